{{ config(materialized='view') }}

with

first_deliveries as (

    select * from {{ ref('events') }}
    where kind = 'row_change' and not is_duplicate

),

-- Where a format sends an update as a before/after pair, the second message takes the image of the first.
paired as (

    select
        *,
        case when operation = 'update_after' then lag(before) over pair end as paired_before,
        case when operation = 'update_after' then lag(before_is_complete) over pair end as paired_before_is_complete,
        operation = 'update_before' and lead(operation) over pair = 'update_after' as has_after
    from first_deliveries
    where operation in ('update_before', 'update_after')
    window pair as (
        partition by format, database_name, schema_name, table_name, sequence
        order by if(operation = 'update_before', 0, 1), bronze_version, topic, partition, offset
    )

),

changes as (

    select
        *,
        cast(null as map<string, string>) as paired_before,
        cast(null as boolean) as paired_before_is_complete
    from first_deliveries
    where operation not in ('update_before', 'update_after')
    union all
    select * except (has_after)
    from paired
    where not has_after

)

select
    topic,
    partition,
    offset,
    row_number,
    format,
    if(operation = 'update_after', 'update', operation) as operation,
    database_name,
    schema_name,
    table_name,
    key_columns,
    coalesce(before, paired_before) as before,
    after,
    coalesce(before_is_complete, paired_before_is_complete) as before_is_complete,
    after_is_complete,
    column_types,
    source_type,
    committed_at,
    produced_at,
    ingested_at,
    sequence,
    transaction_id,
    transaction_row,
    bronze_version,
    is_late,
    loaded_at
from changes
