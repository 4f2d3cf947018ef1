{#-
    A row image of MySQL texts in canonical text (one text per value, whatever the vendor): bytes written as ISO-8859-1 to
    hex, timestamps from the topic's zone to UTC, fractions of seconds without trailing zeros. Images of tables without such
    a column pass through untouched.
-#}
{% macro canonical_mysql_image(image, types, time_zone) -%}
    if(
        exists(map_values({{ types }}), type -> {{ is_mysql_binary('type') }} or type rlike '(?i)^(date)?time'),
        transform_values({{ image }}, (name, text) -> {{ canonical_mysql_text('text', types ~ '[name]', time_zone) }}),
        {{ image }}
    )
{%- endmacro %}

{#- Whether a MySQL type holds bytes. -#}
{% macro is_mysql_binary(type) -%}
    {{ type }} rlike r'(?i)^((tiny|medium|long)?blob|(var)?binary|geom(etry|collection)|geometrycollection|(multi)?(point|linestring|polygon))\b'
{%- endmacro %}

{#- One MySQL value in canonical text; a value that is not what its type says stays as sent. -#}
{% macro canonical_mysql_text(text, type, time_zone) -%}
    case
        when {{ is_mysql_binary(type) }} and {{ text }} rlike r'^[\x00-\xff]*+$'
            then lower(hex(encode({{ text }}, 'ISO-8859-1')))
        when {{ type }} rlike '(?i)^timestamp' and {{ time_zone }} <> 'UTC'
            then coalesce(
                date_format(
                    to_utc_timestamp(try_to_timestamp(left({{ text }}, 19), 'yyyy-MM-dd HH:mm:ss'), {{ time_zone }}),
                    'yyyy-MM-dd HH:mm:ss'
                ) || {{ trimmed_fraction('substr(' ~ text ~ ', 20)') }},
                {{ trimmed_fraction(text) }}
            )
        when {{ type }} rlike '(?i)^(date)?time' then {{ trimmed_fraction(text) }}
        else {{ text }}
    end
{%- endmacro %}
