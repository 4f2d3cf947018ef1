{#-
    A row image of DRS in canonical text, by the types that the message gives: lists of signed bytes to hex (BIT to its
    number), timestamps from seconds since 1970, or from the topic's zone, to UTC, fractions without trailing zeros. Of types
    that are not MySQL's, only a TIMESTAMP WITH LOCAL TIME ZONE is an instant, and then only without a zone in its text.
    A column without a type, and a value that is not what its type says, stay as sent.
-#}
{% macro canonical_drs_image(image, types, are_mysql_types, time_zone) -%}
    {%- set zone -%}
        if(
            {{ are_mysql_types }} or (type rlike '(?i) with local time zone' and text rlike r'^.{19}(\.[0-9]+)?\z'),
            {{ time_zone }},
            'UTC'
        )
    {%- endset -%}
    {%- set canonical_text -%}
        case
            when type is null then text
            when type rlike r'(?i)^{{ binary_types() }}' then coalesce({{ byte_list_to_hex('text') }}, text)
            when type rlike r'(?i)^bit\b' and length({{ byte_list_to_hex('text') }}) between 2 and 16
                then conv({{ byte_list_to_hex('text') }}, 16, 10)
            when type rlike '(?i)^timestamp' then coalesce({{ epoch_text_to_utc('text') }}, {{ local_to_utc('text', zone) }})
            when type rlike '(?i)^(date)?time' then {{ trimmed_fraction('text') }}
            when type rlike r'(?i)^(enum|set)\(' then {{ members_of('text', 'type') }}
            else text
        end
    {%- endset -%}
    {{ texts_by_type(image, types, canonical_text) }}
{%- endmacro %}

{#- A printed array of bytes, as Java prints it ([106, -3]), as lower-case hex; null for any other text. -#}
{% macro byte_list_to_hex(text) -%}
    {%- set byte = '(?:-(?:1[01][0-9]|12[0-8]|[1-9][0-9]?+)|1[0-9]{2}|2[0-4][0-9]|25[0-5]|[0-9]{1,2})' -%}
    case
        when {{ text }} rlike r'^\[(?:{{ byte }}(?:, ?{{ byte }})*+)?+\]\z'
            then array_join(
                transform(
                    regexp_extract_all({{ text }}, '-?[0-9]+', 0),
                    byte -> lpad(lower(hex(cast(byte as int) & 255)), 2, '0')
                ),
                ''
            )
    end
{%- endmacro %}
