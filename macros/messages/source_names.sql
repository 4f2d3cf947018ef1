{#-
    The columns that tell which tables a message is about: `truncated` and `dropped_tables` if it is a statement on tables, and
    `source_database` and `source_table`, taken from the statement or from seeds/topics.csv if the message does not name them.
    `source_type` is the kind of database, if the message has it. The other arguments are columns of the step that reads the
    message.
-#}
{% macro source_names(database, table, source_type='null', kind='kind', stated='stated', route_database='route_database') -%}
{{ truncated_tables(table, source_type, kind, stated) }} as truncated,
{{ dropped_tables(table, source_type, stated) }} as dropped_tables,
coalesce(
    nullif({{ database }}, ''),
    get(truncated, 0).database_name,
    if({{ kind }} in ('row_change', 'schema_change', 'truncate'), {{ route_database }}, null)
) as source_database,
coalesce(get(truncated, 0).table_name, nullif({{ table }}, '')) as source_table
{%- endmacro %}
