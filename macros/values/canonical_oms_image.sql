{#-
    A row image of OMS in canonical text, by the types that the message gives: Base64 to hex (BIT to its number), seconds
    since 1970 to UTC texts, numbers without exponent. A column without a type stays as sent.
-#}
{% macro canonical_oms_image(image, types) -%}
    {{ texts_by_type(image, types, canonical_oms_text('text', 'type')) }}
{%- endmacro %}

{#- One value of OMS in canonical text; a value that is not what its type says stays as sent. -#}
{% macro canonical_oms_text(text, type) -%}
    case
        when {{ type }} is null then {{ text }}
        when {{ is_binary_type(type) }} then {{ base64_to_hex(text) }}
        when {{ type }} rlike r'(?i)^bit\b' then {{ base64_to_number(text) }}
        when {{ type }} rlike r'(?i)^bool' then if({{ text }} in ('true', 'false'), if({{ text }} = 'true', '1', '0'), {{ text }})
        when {{ type }} rlike r'(?i)^timestamp' then coalesce({{ epoch_text_to_utc(text) }}, {{ clock_text(text) }})
        when {{ type }} rlike r'(?i)^((date)?time|zoned_?datetime)' then {{ clock_text(text) }}
        when {{ type }} rlike r'(?i)^(dec|num|fixed|(tiny|small|medium|big)?int)' then {{ plain_number(text) }}
        else {{ text }}
    end
{%- endmacro %}

{#- A date and time with a blank between them, where releases before 3.3.0 write a T and leave out seconds of zero. -#}
{% macro clock_text(text) -%}
    {{ trimmed_fraction(
        "regexp_replace(regexp_replace(" ~ text ~ ", r'^([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2})', '$1 $2'),"
        ~ " r'^([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2})(?= |$)', '$1:00')"
    ) }}
{%- endmacro %}

{#- The number that up to eight Base64 bytes are, most significant first; any other text stays as sent. -#}
{% macro base64_to_number(text) -%}
    if(
        octet_length(try_to_binary({{ text }}, 'base64')) between 1 and 8,
        conv(hex(try_to_binary({{ text }}, 'base64')), 16, 10),
        {{ text }}
    )
{%- endmacro %}
