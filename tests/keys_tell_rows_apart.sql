-- A row is inserted under a key that has another row: the key of Debezium's messages is no key of the table
-- (`message.key.columns`), and gold shows one of the rows that share it. Name the table's key in `key` of seeds/topics.csv,
-- then `lakehouse replay --processed --topic T`. Rows of one snapshot that share a key are in sequences_have_one_content.
{{ config(severity='warn', meta={'look_at': 'silver.row_changes'}) }}

{%- set new = passed_before() | int %}

with

keyed as (

    select
        *,
        concat_ws('.', database_name, schema_name, table_name) as source_table,
        transform(key_columns, name -> coalesce(after, before)[name]) as row_key
    from {{ ref('events') }}
    where
        kind = 'row_change' and key_columns is not null
        and format in ('debezium_avro', 'debezium_flat_json', 'debezium_json', 'debezium_protobuf')

),

inserted as (

    select
        source_table,
        row_key
    from keyed
    where operation = 'insert' and bronze_version > {{ new }}

),

-- Only of the keys of new rows the earlier changes are read in their order.
of_new_rows as (

    select keyed.*
    from keyed
    left semi join inserted
        on keyed.source_table = inserted.source_table and keyed.row_key = inserted.row_key

),

changes as (

    select
        topic,
        partition,
        offset,
        source_table,
        key_columns,
        row_key,
        sequence,
        bronze_version,
        operation = 'insert'
        and lag(operation) over of_key in ('insert', 'snapshot')
        and not map_entries(after) <=> lag(map_entries(after)) over of_key as has_row,
        lag(sequence) over of_key as sequence_before
    from of_new_rows
    window of_key as (partition by source_table, key_columns, row_key order by sequence, partition, offset)

),

-- With these all rows of a table go.
ends as (

    select
        concat_ws('.', database_name, schema_name, table_name) as source_table,
        sequence
    from {{ ref('events') }}
    where kind = 'truncate'
    union all
    select
        concat_ws('.', database_name, schema_name, table_name) as source_table,
        sequence
    from {{ ref('dropped_tables') }}

)

select
    changes.topic,
    changes.partition,
    changes.offset,
    changes.source_table,
    changes.key_columns,
    changes.row_key
from changes
left anti join ends
    on
        changes.source_table = ends.source_table
        and ends.sequence between changes.sequence_before and changes.sequence
where changes.has_row and changes.bronze_version > {{ new }}
