{{ config(materialized='view') }}

select
    topic,
    partition,
    format,
    database_name,
    schema_name,
    table_name,
    kind,
    operation,
    is_duplicate,
    is_late,
    results as outcomes,
    first_sequence,
    last_sequence,
    first_committed_at,
    last_commit,
    last_ingested_at,
    last_processed_at,
    bronze_version
from {{ ref('result_counts') }}
