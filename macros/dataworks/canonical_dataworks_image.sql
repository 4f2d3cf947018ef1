{#-
    A row image of DataWorks in canonical text, by its six types: Base64 to hex, booleans to 1 and 0, milliseconds since
    1970 to the wall clock of the topic's zone. A column without a type stays as sent.
-#}
{% macro canonical_dataworks_image(image, types, time_zone) -%}
    {{ texts_by_type(image, types, canonical_dataworks_text('text', 'type', time_zone)) }}
{%- endmacro %}

{#- One value of DataWorks in canonical text; a value that is not what its type says stays as sent. -#}
{% macro canonical_dataworks_text(text, type, time_zone) -%}
    case
        when {{ type }} = 'BYTES' then {{ base64_to_hex(text) }}
        when {{ type }} = 'BOOLEAN' and {{ text }} in ('true', 'false') then if({{ text }} = 'true', '1', '0')
        when {{ type }} = 'DATE' then coalesce({{ milliseconds_to_clock(text, time_zone) }}, {{ text }})
        else {{ text }}
    end
{%- endmacro %}
