{#- The names that a gold model's columns have in the source, as its YAML tells them: array<string>. -#}
{% macro names_of_source_columns(relation) -%}
    cast(array({{ adapter.sources.names(relation, (graph.nodes or {}).values()) }}) as array<string>)
{%- endmacro %}

{#- Their former names, each with the newest, as its YAML tells them: map<string, string>. -#}
{% macro former_names_of_source_columns(relation) -%}
    cast(map({{ adapter.sources.former_names(relation, (graph.nodes or {}).values()) }}) as map<string, string>)
{%- endmacro %}
