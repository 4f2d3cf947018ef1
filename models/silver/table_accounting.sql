{{ config(materialized='view') }}

with

changes as (

    select * from {{ ref('result_counts') }}
    where kind = 'row_change'

)

select
    database_name,
    schema_name,
    table_name,
    coalesce(sum(results) filter (where not is_duplicate), 0) as changes,
    coalesce(sum(results) filter (where not is_duplicate and is_late), 0) as late_changes,
    coalesce(sum(results) filter (where is_duplicate), 0) as repeated_changes,
    max(last_commit.committed_at) as last_committed_at,
    max(last_ingested_at) as last_ingested_at,
    max(last_processed_at) as last_processed_at,
    max(last_commit).delay / 1000000 as last_delay_seconds,
    (unix_micros(current_timestamp()) - unix_micros(max(last_commit.committed_at))) / 1000000 as seconds_since_last_commit
from changes
group by database_name, schema_name, table_name
