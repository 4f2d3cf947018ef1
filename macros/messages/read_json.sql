{#-
    The JSON object in `value` (bytes) as struct<fields, end_of_message: string, malformed: string>, its text passed through
    `prepare`. The last brace gives way to a last member: only if the text is one whole object does that member belong to it,
    so a cut text, a second object or anything else behind the first, which Spark's reader would not look at, shows.
    `malformed` is filled where a value is not of its field's type. Without `maxStringLen` a text of more than 20 million
    characters would be no JSON.
-#}
{% macro read_json(value, fields, prepare) -%}
    from_json(
        {{ prepare(with_end_of_message(value)) }},
        '{{ fields }}, end_of_message string, malformed string',
        map(
            'columnNameOfCorruptRecord', 'malformed',
            'allowSingleQuotes', 'false',
            'allowNonNumericNumbers', 'false',
            'maxStringLen', '{{ var('max_message_bytes') }}'
        )
    )
{%- endmacro %}

{#- The text of a JSON object with one more member at its end. -#}
{% macro with_end_of_message(value) -%}
    case
        when octet_length({{ value }}) < 100 and cast({{ value }} as string) rlike r'\A[ \t\r\n]*+\{[ \t\r\n]*+\}[ \t\r\n]*+\z'
            then '{"end_of_message":"reached"}'
        when substr({{ value }}, -1, 1) = X'7d'
            then cast(substr({{ value }}, 1, octet_length({{ value }}) - 1) as string) || ',"end_of_message":"reached"}'
        else regexp_replace(cast({{ value }} as string), r'\}[ \t\r\n]++\z', ',"end_of_message":"reached"}')
    end
{%- endmacro %}
