{#-
    The tables that a TRUNCATE names, as array<struct<database_name, schema_name, table_name>>: where the message names none,
    or only one of several (PostgreSQL). Null otherwise. `stated` is what `read_ddl` says of the statement, `source_type` the kind of
    database, where the message tells it.
-#}
{% macro truncated_tables(table, source_type='null', kind='kind', stated='stated') -%}
    case
        when
            {{ kind }} = 'truncate' and {{ stated }}.action = 'truncate_table'
            and (nullif({{ table }}, '') is null or size({{ stated }}.tables) > 1)
            then {{ tables_of_statement(source_type, stated) }}
    end
{%- endmacro %}
