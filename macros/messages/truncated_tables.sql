{#-
    The tables of a TRUNCATE, as array<struct<database_name, schema_name, table_name>>, if the message names no table or the
    statement names several (PostgreSQL); null otherwise. `stated` is what `read_ddl` says of the statement, `source_type` the kind
    of database, if the message has it.
-#}
{% macro truncated_tables(table, source_type='null', kind='kind', stated='stated') -%}
    case
        when
            {{ kind }} = 'truncate' and {{ stated }}.action = 'truncate_table'
            and (nullif({{ table }}, '') is null or size({{ stated }}.tables) > 1)
            then {{ tables_of_statement(source_type, stated) }}
    end
{%- endmacro %}
