{#- An expression in which `name` stands for a value that is computed once: below a lambda Spark shares no subexpressions. -#}
{% macro worked_out_once(name, value, expression) -%}
    get(transform(array({{ value }}), {{ name }} -> {{ expression }}), 0)
{%- endmacro %}
