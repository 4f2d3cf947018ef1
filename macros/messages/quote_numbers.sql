{#-
    A JSON text with every bare number in quotes. Spark's reader takes bare fractions through a double and loses digits;
    as text they stay as they were written. What is no JSON number stays bare, for the reader to refuse. The pattern is linear
    on any input: a part that could give characters back ends before one that it cannot hold. Only such parts does Java
    match in a tight loop, where possessive ones cost it several calls a character.
-#}
{% macro quote_numbers(text) -%}
    regexp_replace(
        {{ text }},
        r'\G([^"0-9-]*(?:"[^"\\]*(?:\\.[^"\\]*)*+"[^"0-9-]*)*+)(-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+)(?![0-9a-zA-Z.+-])',
        '$1"$2"'
    )
{%- endmacro %}
