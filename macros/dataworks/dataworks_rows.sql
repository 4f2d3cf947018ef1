{#-
    The rows of DataWorks messages with the columns of silver.events that they tell beside their images and their order: one row per
    message, or one per table of a TRUNCATE. `field` is the name of the field that orders changes, `position` its value. Needs the
    columns of `dataworks_checked`, truncated and source_schema.
-#}
{% macro dataworks_rows(read, field, position) -%}
select
    *,
    source_database as database_name,
    coalesce(get(truncated, row_number).schema_name, nullif(source_schema, '')) as schema_name,
    coalesce(get(truncated, row_number).table_name, source_table) as table_name,
    statement as ddl,
    {{ epoch_to_timestamp('event_time', 'milliseconds') }} as committed_at,
    {{ epoch_to_timestamp('system_time', 'milliseconds') }} as produced_at
from (
    select
        *,
        explode(sequence(0, if(problem is null, coalesce(size(truncated), 1), 1) - 1)) as row_number,
        if(problem is null and size(columns) > 0, map_from_entries(array_distinct(columns)), null) as column_types
    from ({{ dataworks_checked(read, field, position) }})
)
{%- endmacro %}
