{#- Whether a row image holds every column that the message gives a type; most hold just these, in this order. -#}
{% macro has_all_columns(image, types) -%}
    coalesce(map_keys({{ types }}) = map_keys({{ image }}) or size(array_except(map_keys({{ types }}), map_keys({{ image }}))) = 0, true)
{%- endmacro %}
