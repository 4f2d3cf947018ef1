{#- A folder's schema is the schema's whole name: `silver`, not `<target>_silver`. -#}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ custom_schema_name or target.schema }}
{%- endmacro %}
