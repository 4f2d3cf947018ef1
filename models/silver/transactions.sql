{{ config(materialized='view') }}

select
    topic,
    partition,
    offset,
    format,
    kind,
    committed_at,
    produced_at,
    transaction_id,
    ingested_at,
    bronze_version
from {{ ref('events') }}
where kind in ('transaction_begin', 'transaction_end')
