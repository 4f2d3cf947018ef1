{#-
    A row image of DataWorks in canonical text, by its six types: Base64 to hex, booleans to 1 and 0, milliseconds since
    1970 to the wall clock of the topic's zone. A column without a type, and a value that is not what its type says, stay as sent.
-#}
{% macro canonical_dataworks_image(image, types, time_zone) -%}
    {%- set canonical_text -%}
        case
            when type = 'BYTES' then coalesce(lower(hex(try_to_binary(text, 'base64'))), text)
            when type = 'BOOLEAN' and text in ('true', 'false') then if(text = 'true', '1', '0')
            when type = 'DATE' then coalesce({{ milliseconds_to_clock('text', time_zone) }}, text)
            else text
        end
    {%- endset -%}
    {{ texts_by_type(image, types, canonical_text) }}
{%- endmacro %}
