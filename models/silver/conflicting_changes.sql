{{ config(materialized='view') }}

with

-- The two messages of one update share its place in the source.
changes as (

    select
        *,
        if(operation in ('update_before', 'update_after'), operation, 'change') as part,
        xxhash64(kind, operation, map_entries(before), map_entries(after)) as content
    from {{ ref('placed_changes') }}
    where shares_place

)

select
    format,
    database_name,
    schema_name,
    table_name,
    sequence,
    count(*) as deliveries,
    count(distinct content) as contents,
    min(struct(topic, partition, offset, row_number)) as first_delivery,
    max(struct(topic, partition, offset, row_number)) as last_delivery
from changes
group by format, database_name, schema_name, table_name, sequence, part
having count(distinct content) > 1
