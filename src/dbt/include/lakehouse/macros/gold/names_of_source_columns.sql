{#- The names that a gold model's columns have in the source, as its YAML tells them: array<string>. -#}
{% macro names_of_source_columns(relation) -%}
    cast(array({{ adapter.gold.names_of_source_columns(relation, (graph.nodes or {}).values()) }}) as array<string>)
{%- endmacro %}
