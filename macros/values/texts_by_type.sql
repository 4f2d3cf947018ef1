{#- A row image with each value put through `expression`, which calls the value `text` and its column's type `type`. -#}
{% macro texts_by_type(image, types, expression) -%}
    transform_values({{ image }}, (name, text) -> {{ worked_out_once('type', types ~ '[name]', expression) }})
{%- endmacro %}
