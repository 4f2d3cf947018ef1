{{ config(materialized='view') }}

select
    topic,
    partition,
    offset,
    format,
    kind,
    database_name,
    schema_name,
    table_name,
    ddl,
    source_type,
    committed_at,
    produced_at,
    sequence,
    transaction_id,
    ingested_at,
    bronze_version
from {{ ref('events') }}
where kind in ('schema_change', 'truncate')
