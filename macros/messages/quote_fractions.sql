{#- `quote_numbers` for a format that quotes its values: done only where a bare fraction stands, which costs next to nothing. -#}
{% macro quote_fractions(text) -%}
    if({{ text }} rlike r'[:,\[]\s*-?[0-9]+[.eE]', {{ quote_numbers(text) }}, {{ text }})
{%- endmacro %}
