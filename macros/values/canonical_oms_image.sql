{#-
    A row image of OMS in canonical text, by the types that the message gives: Base64 to hex (BIT to its number), seconds
    since 1970 to UTC texts, numbers without exponent, a blank between date and time where releases before 3.3.0 write a T and
    leave out seconds of zero. A column without a type, and a value that is not what its type says, stay as sent. `clock` is a
    dialect's own way to read the `text` of a date and time by its `type`, null where that is not its own.
-#}
{% macro canonical_oms_image(image, types, clock='null') -%}
    {%- set clock_text -%}
        regexp_replace(
            regexp_replace(text, r'^([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2})', '$1 $2'),
            r'^([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2})(?= |$)', '$1:00'
        )
    {%- endset -%}
    {%- set canonical_text -%}
        case
            when type is null then text
            when type rlike r'(?i)^{{ binary_types() }}' then coalesce(lower(hex(try_to_binary(text, 'base64'))), text)
            when type rlike r'(?i)^bit\b' and octet_length(try_to_binary(text, 'base64')) between 1 and 8
                then conv(hex(try_to_binary(text, 'base64')), 16, 10)
            when type rlike '(?i)^bool' and text in ('true', 'false') then if(text = 'true', '1', '0')
            when type rlike '(?i)^timestamp'
                then coalesce({{ clock }}, {{ epoch_text_to_utc('text') }}, {{ trimmed_fraction(clock_text) }})
            when type rlike '(?i)^((date)?time|zoned_?datetime)' then coalesce({{ clock }}, {{ trimmed_fraction(clock_text) }})
            when type rlike '(?i)^(dec|num|fixed|(tiny|small|medium|big)?int)' then {{ plain_number('text') }}
            else text
        end
    {%- endset -%}
    {{ texts_by_type(image, types, canonical_text) }}
{%- endmacro %}
