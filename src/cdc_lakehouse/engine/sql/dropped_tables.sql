{#- The names of a table that a statement drops, `dropped`, or else those of its row of `events`. -#}
{% macro names_of_dropped_table() -%}
    coalesce(dropped.database_name, database_name) as database_name,
    coalesce(dropped.schema_name, schema_name) as schema_name,
    if(dropped is null, table_name, dropped.table_name) as table_name
{%- endmacro %}
