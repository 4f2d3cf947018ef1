{#-
    `quote_numbers` for a format that quotes its values: done only where a bare fraction stands, or what looks like one. What
    ends in a quote is a text: 22:13:20.5 is none. Looked for from its point or exponent on, of which a message has few.
-#}
{% macro quote_fractions(text) -%}
    if(
        {{ text }} rlike r'[.eE](?<=[0-9].)[0-9+-][0-9.eE+-]*+[\s,}\]]',
        {{ quote_numbers(text) }},
        {{ text }}
    )
{%- endmacro %}
