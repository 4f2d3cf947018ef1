{#- A folder's schema is the schema's whole name: `silver`, not `<target>_silver`. -#}
{% macro lakehouse__generate_schema_name(custom_schema_name, node) -%}
    {{ custom_schema_name or target.schema }}
{%- endmacro %}
