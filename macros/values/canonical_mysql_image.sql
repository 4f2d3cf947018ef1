{#-
    A row image of MySQL texts in canonical text (one text per value, whatever the vendor): bytes written as ISO-8859-1 to hex,
    timestamps from the topic's zone to UTC, fractions of seconds without trailing zeros, ordinals to labels. A column without a
    type, and a value that is not what its type says, stay as sent. Most images are canonical as they are: patterns over all types
    and all texts tell that, without a test per column.
-#}
{% macro canonical_mysql_image(image, types, time_zone) -%}
    {%- set all_types = "array_join(map_values(" ~ types ~ "), '\\n')" -%}
    {%- set all_texts = "array_join(map_values(" ~ image ~ "), '\\n')" -%}
    {%- set canonical_types -%}
        map_filter({{ types }}, (name, type) -> type rlike r'(?i)^{{ binary_types() }}' or type rlike r'(?i)^((date)?time|enum\(|set\()')
    {%- endset -%}
    {%- set canonical_text -%}
        case
            when type is null then text
            when type rlike r'(?i)^{{ binary_types() }}' and text rlike r'^[\x00-\xff]*+\z'
                then lower(hex(encode(text, 'ISO-8859-1')))
            when type rlike '(?i)^timestamp' then {{ local_to_utc('text', time_zone) }}
            when type rlike '(?i)^(date)?time' then {{ trimmed_fraction('text') }}
            when type rlike r'(?i)^(enum|set)\(' then {{ members_of('text', 'type') }}
            else text
        end
    {%- endset -%}
    if(
        {{ all_types }} rlike r'(?im)^({{ binary_types() }}|(enum|set)\()'
        or ({{ time_zone }} <> 'UTC' and {{ all_types }} rlike '(?im)^timestamp')
        or ({{ all_texts }} rlike r'(?m):[0-9]{2}\.([0-9]*0)?(?= |$)' and {{ all_types }} rlike '(?im)^(date)?time'),
        {{ worked_out_once('canonical_types', canonical_types, texts_by_type(image, 'canonical_types', canonical_text)) }},
        {{ image }}
    )
{%- endmacro %}
