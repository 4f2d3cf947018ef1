{#- Whether a row image has every column for which the message has a type; most images have the same columns in the same order. -#}
{% macro has_all_columns(image, types) -%}
    coalesce(map_keys({{ types }}) = map_keys({{ image }}) or size(array_except(map_keys({{ types }}), map_keys({{ image }}))) = 0, true)
{%- endmacro %}
