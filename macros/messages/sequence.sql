{#- Numbers, most significant first, as one text that sorts like them: each has twenty digits. -#}
{% macro sequence(numbers) -%}
    concat_ws('.'{% for number in numbers %}, lpad({{ number }}, 20, '0'){% endfor %})
{%- endmacro %}
