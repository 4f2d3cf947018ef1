{#- Whether a row image holds every column that the message gives a type. -#}
{% macro has_all_columns(image, types) -%}
    coalesce(size(array_except(map_keys({{ types }}), map_keys({{ image }}))) = 0, true)
{%- endmacro %}
