{{ config(materialized='summary') }}

with

counts as (

    select * from {{ kept_rows() }}
    union all
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
        count(*) as results,
        min(sequence) filter (where committed_at is not null) as first_sequence,
        max(sequence) filter (where committed_at is not null) as last_sequence,
        min(committed_at) as first_committed_at,
        max(struct(committed_at, unix_micros(loaded_at) - unix_micros(committed_at) as delay)) as last_commit,
        max(ingested_at) as last_ingested_at,
        max(loaded_at) as last_processed_at,
        max(bronze_version) as bronze_version
    from {{ ref('events') }}
    where bronze_version > {{ last_kept('bronze_version') }}
    group by topic, partition, format, database_name, schema_name, table_name, kind, operation, is_duplicate, is_late

)

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
    sum(results) as results,
    min(first_sequence) as first_sequence,
    max(last_sequence) as last_sequence,
    min(first_committed_at) as first_committed_at,
    max(last_commit) as last_commit,
    max(last_ingested_at) as last_ingested_at,
    max(last_processed_at) as last_processed_at,
    max(bronze_version) as bronze_version
from counts
group by topic, partition, format, database_name, schema_name, table_name, kind, operation, is_duplicate, is_late
