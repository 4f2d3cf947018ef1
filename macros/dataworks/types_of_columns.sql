{#- A list of {name, type} objects as struct<name, type>, without what has no name. -#}
{% macro named_types(columns) -%}
    transform(
        filter({{ columns }}, sent -> sent['name'] is not null),
        sent -> struct(sent['name'] as name, sent['type'] as type)
    )
{%- endmacro %}

{#- A list of struct<name, type> as a map, null if it is empty; each name must have one type. -#}
{% macro types_of_columns(columns) -%}
    if(size({{ columns }}) > 0, map_from_entries(array_distinct({{ columns }})), null)
{%- endmacro %}
