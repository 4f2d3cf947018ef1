-- A TRUNCATE that the order of its table puts before all changes, or behind all, although their commit times say otherwise:
-- it removes none of the rows, or all, in silence. Its format orders statements and rows by different fields.
{{ config(severity='warn') }}

with

truncates as (

    select
        *,
        concat_ws('.', database_name, schema_name, table_name) as source_table
    from {{ ref('events') }}
    where kind = 'truncate' and committed_at is not null

),

changes as (

    select
        format,
        concat_ws('.', database_name, schema_name, table_name) as source_table,
        min(first_sequence) as first_sequence,
        max(last_sequence) as last_sequence,
        min(first_committed_at) as first_committed_at,
        max(last_commit.committed_at) as last_committed_at
    from {{ ref('result_counts') }}
    where kind = 'row_change' and operation <> 'snapshot'
    group by format, source_table

)

select
    truncates.topic,
    truncates.partition,
    truncates.offset,
    truncates.format,
    truncates.source_table,
    truncates.ddl,
    truncates.committed_at,
    changes.first_committed_at,
    changes.last_committed_at
from truncates
inner join changes
    on truncates.format = changes.format and truncates.source_table = changes.source_table
where
    -- A second is what many sources count in.
    (truncates.sequence < changes.first_sequence and truncates.committed_at > changes.first_committed_at + interval 1 second)
    or (truncates.sequence > changes.last_sequence and truncates.committed_at < changes.last_committed_at - interval 1 second)
