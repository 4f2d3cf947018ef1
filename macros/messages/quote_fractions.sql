{#-
    `quote_numbers` for a format that quotes its values: done only where a bare fraction stands, or what looks like one. What
    ends in a quote is a text: 22:13:20.5 is none.
-#}
{% macro quote_fractions(text) -%}
    if(
        {{ text }} rlike r'[:,\[]\s*+-?+[0-9]++[.eE][0-9.eE+-]++[\s,}\]]',
        {{ quote_numbers(text) }},
        {{ text }}
    )
{%- endmacro %}
