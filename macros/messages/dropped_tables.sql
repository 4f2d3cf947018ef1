{#-
    The tables that a statement drops, as array<struct<database_name, schema_name, table_name>>; null for any other statement. A
    null name is the one of the message; a dropped database or schema has no table_name. The table name of the message has
    precedence over that of the statement. The arguments are those of `truncated_tables`.
-#}
{% macro dropped_tables(table, source_type='null', stated='stated') -%}
    {%- set has_schemas = has_schemas(source_type) -%}
    case
        when {{ stated }}.action = 'drop_database'
            then transform(
                {{ tables_of_statement(source_type, stated) }},
                named -> struct(
                    if({{ has_schemas }}, null, named.table_name) as database_name,
                    if({{ has_schemas }}, named.table_name, null) as schema_name,
                    cast(null as string) as table_name
                )
            )
        when {{ stated }}.action not in ('drop_table', 'replace_table') or size({{ stated }}.tables) = 0 then null
        when size({{ stated }}.tables) = 1 and nullif({{ table }}, '') is not null
            then array(struct(cast(null as string) as database_name, cast(null as string) as schema_name, {{ table }} as table_name))
        else {{ tables_of_statement(source_type, stated) }}
    end
{%- endmacro %}
