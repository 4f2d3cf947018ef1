{#-
    The kind of a DDL statement: a TRUNCATE empties tables, any other changes schemas. `stated` is what `read_ddl` says of the
    statement.
-#}
{% macro ddl_kind(stated='stated') -%}
    if({{ stated }}.action = 'truncate_table', 'truncate', 'schema_change')
{%- endmacro %}
