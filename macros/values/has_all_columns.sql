{#- Whether a row image holds every column that the message gives a type. -#}
{% macro has_all_columns(image, types) -%}
    coalesce(forall(map_keys({{ types }}), name -> map_contains_key({{ image }}, name)), true)
{%- endmacro %}
