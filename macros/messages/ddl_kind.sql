{#- The kind of a DDL statement: a TRUNCATE empties the table, anything else changes its shape. -#}
{% macro ddl_kind(statement) -%}
    if({{ statement }} rlike r'(?is)^(?:\s++|/\*.*?\*/|--[^\n]*+\n|#[^\n]*+\n)*+truncate\s', 'truncate', 'schema_change')
{%- endmacro %}
