{#-
    A row image of Tencent's Canal JSON in canonical text, by the types that the message gives: hexadecimal text in lower case,
    timestamps of zone +00:00 without it, fractions of seconds without trailing zeros. ENUM, SET and BIT stay as sent: the vendor
    does not document how they are written.
-#}
{% macro canonical_tencent_image(image, types) -%}
    {%- set canonical_text -%}
        case
            when type is null then text
            when type rlike r'(?i)^{{ binary_types() }}' then lower(regexp_replace(text, '^0[xX]', ''))
            when type rlike '(?i)^timestamp' then {{ trimmed_fraction("regexp_replace(text, r' ?[+]00:00\\z', '')") }}
            when type rlike '(?i)^(date)?time' then {{ trimmed_fraction('text') }}
            else text
        end
    {%- endset -%}
    {{ texts_by_type(image, types, canonical_text) }}
{%- endmacro %}
