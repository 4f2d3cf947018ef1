{{ config(materialized='view') }}

with

first_deliveries as (

    select * from {{ ref('events') }}
    where kind = 'row_change' and not is_duplicate

),

-- Where a format sends an update as two messages, its second half takes the image of the first.
paired as (

    select
        *,
        case when operation = 'update_after' then lag(before) over halves end as first_half,
        case when operation = 'update_after' then lag(before_is_complete) over halves end as first_half_is_complete,
        operation = 'update_before' and lead(operation) over halves = 'update_after' as has_second_half
    from first_deliveries
    where operation in ('update_before', 'update_after')
    window halves as (
        partition by format, database_name, schema_name, table_name, sequence
        order by if(operation = 'update_before', 0, 1), bronze_version, topic, partition, offset
    )

),

changes as (

    select
        *,
        cast(null as map<string, string>) as first_half,
        cast(null as boolean) as first_half_is_complete
    from first_deliveries
    where operation not in ('update_before', 'update_after')
    union all
    select * except (has_second_half)
    from paired
    where not has_second_half

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
    coalesce(before, first_half) as before,
    after,
    coalesce(before_is_complete, first_half_is_complete) as before_is_complete,
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
