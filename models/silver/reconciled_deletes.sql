{{ config(materialized='view') }}

with

extracts as (

    select
        topic,
        partition,
        offset,
        database_name,
        schema_name,
        table_name,
        concat_ws('.', database_name, schema_name, table_name) as source_table,
        committed_at,
        sequence,
        bronze_version,
        -- How the sequences of its own rows begin.
        left(sequence, length(sequence) - 1) as own_rows
    from {{ ref('events') }}
    where kind = 'control' and format = 'full_extract' and endswith(sequence, '.0')

),

-- An extract of no rows names no key: the table's other changes do.
images as (

    select
        source_table,
        operation,
        image,
        sequence,
        max_by(key_columns, if(key_columns is null, null, sequence)) over (partition by source_table) as key_columns
    from {{ ref('row_images') }}
    where source_table in (select extracts.source_table from extracts)

),

emptied as (

    select
        extracts.topic,
        extracts.partition,
        max(images.sequence) as sequence
    from extracts
    inner join images
        on extracts.source_table = images.source_table and extracts.sequence > images.sequence
    where images.operation in ('truncate', 'extract')
    group by extracts.topic, extracts.partition

),

latest as (

    select
        extracts.topic,
        extracts.partition,
        images.key_columns,
        transform(images.key_columns, name -> images.image[name]) as key_values,
        max_by(struct(images.operation, images.image, images.sequence), images.sequence) as change
    from extracts
    inner join images
        on
            extracts.source_table = images.source_table
            and (extracts.sequence > images.sequence or startswith(images.sequence, extracts.own_rows))
    where images.operation not in ('truncate', 'extract')
    group by extracts.topic, extracts.partition, images.key_columns, transform(images.key_columns, name -> images.image[name])

)

select
    extracts.topic,
    extracts.partition,
    extracts.offset,
    extracts.database_name,
    extracts.schema_name,
    extracts.table_name,
    'delete' as operation,
    latest.key_columns,
    latest.change.image as before,
    extracts.committed_at,
    extracts.sequence,
    latest.change.sequence as last_change_sequence,
    extracts.bronze_version
from extracts
inner join latest
    on extracts.topic = latest.topic and extracts.partition = latest.partition
left join emptied
    on extracts.topic = emptied.topic and extracts.partition = emptied.partition
where
    latest.key_values is not null
    and latest.change.operation <> 'delete'
    -- Not a row of the extract itself, nor one that an earlier extract or a TRUNCATE has removed.
    and latest.change.sequence < extracts.sequence
    and (emptied.sequence is null or latest.change.sequence > emptied.sequence)
