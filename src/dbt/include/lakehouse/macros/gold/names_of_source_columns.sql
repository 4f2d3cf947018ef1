{#- The names that a gold model's columns have in the source, as its YAML tells them: array<string>. -#}
{% macro names_of_source_columns(relation) -%}
    {%- set columns = [] -%}
    {%- for node in (graph.nodes or {}).values() if node.resource_type == 'model' and node.schema == relation.schema and node.alias == relation.identifier -%}
        {% do columns.extend(node.columns.values()) %}
    {%- endfor -%}
    cast(array({% for column in columns %}{{ source_name(column) }}{{ ', ' if not loop.last }}{% endfor %}) as array<string>)
{%- endmacro %}
