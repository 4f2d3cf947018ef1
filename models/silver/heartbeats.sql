{{ config(materialized='view') }}

select
    topic,
    partition,
    offset,
    format,
    committed_at,
    produced_at,
    ingested_at,
    bronze_version
from {{ ref('events') }}
where kind = 'heartbeat'
