{#-
    The kind of a DDL statement, of which `stated` is what `read_ddl` says: a TRUNCATE empties tables, anything else changes their
    columns.
-#}
{% macro ddl_kind(stated='stated') -%}
    if({{ stated }}.action = 'truncate_table', 'truncate', 'schema_change')
{%- endmacro %}
