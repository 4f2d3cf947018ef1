{{ config(materialized='summary') }}

with

-- Grouped as they are first: to sort the names of each row would take most of the time.
images as (

    select
        database_name,
        schema_name,
        table_name,
        format,
        source_type,
        map_keys(after) as after_names,
        map_keys(before) as before_names,
        map_entries(column_types) as types,
        -- A new image that is whole proves which columns there are not; any other, and that of a deleted row, which may be
        -- its key alone, proves only which there are.
        after is not null and coalesce(after_is_complete, false) as is_whole,
        min(struct(sequence, committed_at, topic, partition, offset)) as first_seen,
        max(struct(sequence, committed_at, topic, partition, offset)) as last_seen,
        max(bronze_version) as bronze_version
    from {{ ref('events') }}
    where kind = 'row_change' and bronze_version > {{ last_kept('bronze_version') }}
    group by database_name, schema_name, table_name, format, source_type, after_names, before_names, types, is_whole

),

shapes as (

    select * from {{ kept_rows() }}
    union all
    select
        database_name,
        schema_name,
        table_name,
        format,
        source_type,
        sort_array(array_union(coalesce(after_names, array()), coalesce(before_names, array()))) as names,
        sort_array(types) as types,
        is_whole,
        first_seen,
        last_seen,
        bronze_version
    from images

)

select
    database_name,
    schema_name,
    table_name,
    format,
    source_type,
    names,
    types,
    is_whole,
    min(first_seen) as first_seen,
    max(last_seen) as last_seen,
    max(bronze_version) as bronze_version
from shapes
group by database_name, schema_name, table_name, format, source_type, names, types, is_whole
