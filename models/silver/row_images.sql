{{ config(materialized='view') }}

with

events as (

    select * from {{ ref('events') }}
    where
        kind in ('row_change', 'truncate')
        -- A full extract says that a row is gone which it does not have.
        or (kind = 'control' and format = 'full_extract' and endswith(sequence, '.0'))

),

protected as (

    {{ protected('events', 'gold') }}

),

changes as (

    select
        *,
        concat_ws('.', database_name, schema_name, table_name) as source_table,
        -- Where the format does not name the key, any update may have changed it.
        operation = 'update'
        and before is not null
        and (
            key_columns is null
            or exists(key_columns, name -> map_contains_key(before, name) and not before[name] <=> after[name])
        ) as may_change_key,
        -- What `before` does not hold has not changed, be it a part of the key.
        case when may_change_key then {{ laid_over('before', 'after') }} end as old_image
    from protected

),

-- A primary-key change says two things: the old row is gone, and there is a new one. The first of them, also where
-- the format sends it as a message of its own, is over as soon as the second is known: `is_replaced`.
images as (

    select
        *,
        inline(
            case
                when kind = 'truncate' then array(struct('truncate' as operation, map() as image, false as is_replaced))
                when kind = 'control' then array(struct('extract' as operation, map() as image, false as is_replaced))
                when operation in ('delete', 'update_before')
                    then array(struct('delete' as operation, before as image, operation = 'update_before' as is_replaced))
                when may_change_key
                    then array(
                        struct('delete' as operation, old_image as image, true as is_replaced),
                        struct(operation, after as image, false as is_replaced)
                    )
                else array(
                    struct(if(operation = 'update_after', 'update', operation) as operation, after as image, false as is_replaced)
                )
            end
        ) as (row_operation, image, is_replaced)
    from changes

)

select
    database_name,
    schema_name,
    table_name,
    source_table,
    row_operation as operation,
    image,
    is_replaced,
    key_columns,
    coalesce(if(row_operation = 'delete', before_is_complete, after_is_complete), true) as image_is_complete,
    -- These formats write nulls, and know which values they have not sent.
    if(
        format in (
            'debezium_avro', 'debezium_flat_json', 'debezium_json', 'debezium_protobuf', 'drs_avro', 'dts_avro', 'oceanbase_avro',
            'ticdc_simple', 'tidb_canal'
        )
        and row_operation <> 'delete',
        after_is_complete,
        null
    ) as is_whole,
    sequence,
    committed_at,
    topic,
    partition,
    offset,
    row_number,
    bronze_version,
    loaded_at
from images
