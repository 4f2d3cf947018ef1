{#- Whether a row image has no column. -#}
{% macro is_empty_image(image) -%}
    coalesce(size({{ image }}), 0) = 0
{%- endmacro %}
