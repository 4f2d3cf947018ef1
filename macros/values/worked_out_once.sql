{#- An expression in which `name` stands for a value that is worked out once: below a lambda Spark shares no subexpressions. -#}
{% macro worked_out_once(name, value, expression) -%}
    get(transform(array({{ value }}), {{ name }} -> {{ expression }}), 0)
{%- endmacro %}

{#- A row image with each `text` put through an expression of it and its column's `type`. -#}
{% macro texts_by_type(image, types, expression) -%}
    transform_values({{ image }}, (name, text) -> {{ worked_out_once('type', types ~ '[name]', expression) }})
{%- endmacro %}
