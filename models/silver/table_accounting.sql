{{ config(materialized='view') }}

with

changes as (

    select * from {{ ref('events') }}
    where kind = 'row_change'

)

select
    database_name,
    schema_name,
    table_name,
    count_if(not is_duplicate) as changes,
    count_if(not is_duplicate and is_late) as late_changes,
    count_if(is_duplicate) as repeated_changes,
    max(committed_at) as last_committed_at,
    max(ingested_at) as last_ingested_at,
    max(loaded_at) as last_processed_at,
    max_by(unix_micros(loaded_at) - unix_micros(committed_at), committed_at) / 1000000 as last_delay_seconds,
    (unix_micros(current_timestamp()) - unix_micros(max(committed_at))) / 1000000 as seconds_since_last_commit
from changes
group by database_name, schema_name, table_name
