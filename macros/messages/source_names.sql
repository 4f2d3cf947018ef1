{#-
    The columns that tell which tables a message is about: `truncated` and `dropped_tables` if it is a statement on tables, and
    `source_database` and `source_table`, where the statement and seeds/topics.csv say what the message does not. `kind` and
    `stated` are columns of the step; `source_type` is the kind of database, where the message tells it.
-#}
{% macro source_names(database, table, source_type='null') -%}
{{ truncated_tables(table, source_type) }} as truncated,
{{ dropped_tables(table, source_type) }} as dropped_tables,
coalesce(
    nullif({{ database }}, ''),
    get(truncated, 0).database_name,
    if(kind in ('row_change', 'schema_change', 'truncate'), route_database, null)
) as source_database,
coalesce(get(truncated, 0).table_name, nullif({{ table }}, '')) as source_table
{%- endmacro %}
