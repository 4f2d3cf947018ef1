{#-
    The rows of DataWorks messages, with the `problem` there may be and their `column_types`: one for each message, or for each table
    of a TRUNCATE. `field` is the one that orders changes, `position` its value.
-#}
{% macro dataworks_rows(messages, field, position) -%}
select
    *,
    explode(sequence(0, {{ rows_of_truncate() }} - 1)) as row_number,
    if(problem is null, {{ types_of_columns('columns') }}, null) as column_types
from (
    select
        *,
        if(value is null, null, {{ dataworks_problem(field, position) }}) as problem
    from {{ messages }}
)
{%- endmacro %}

{#- What a DataWorks message says beside its images and its place, as columns of silver.events. -#}
{% macro dataworks_change() -%}
source_database as database_name,
coalesce(get(truncated, row_number).schema_name, nullif(source_schema, '')) as schema_name,
coalesce(get(truncated, row_number).table_name, source_table) as table_name,
statement as ddl,
{{ epoch_to_timestamp('event_time', 'milliseconds') }} as committed_at,
{{ epoch_to_timestamp('system_time', 'milliseconds') }} as produced_at
{%- endmacro %}
