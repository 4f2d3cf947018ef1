{#-
    The JSON object in `text`, which `whole_json` has prepared, as struct<fields, end_of_message: string, malformed: string>.
    `malformed` is filled where a value is not of its field's type. Without `maxStringLen` a text of more than 20 million
    characters would be no JSON.
-#}
{% macro read_json(text, fields) -%}
    from_json(
        {{ text }},
        '{{ fields }}, end_of_message string, malformed string',
        map(
            'columnNameOfCorruptRecord', 'malformed',
            'allowSingleQuotes', 'false',
            'allowNonNumericNumbers', 'false',
            'maxStringLen', '{{ var('max_message_bytes') }}'
        )
    )
{%- endmacro %}

{#-
    The text of the JSON object in `value` (bytes) with one more member at its end. The last brace gives way to that member:
    only if the text is one whole object does it belong to it, so a cut text, a second object or anything else behind the
    first, which Spark's reader would not look at, shows. It is a column of its own step, for what stands below `from_json`
    is not compiled.
-#}
{% macro whole_json(value) -%}
    case
        when octet_length({{ value }}) < 100 and cast({{ value }} as string) rlike r'\A[ \t\r\n]*+\{[ \t\r\n]*+\}[ \t\r\n]*+\z'
            then '{"end_of_message":"reached"}'
        when substr({{ value }}, -1, 1) = X'7d'
            then cast(substr({{ value }}, 1, octet_length({{ value }}) - 1) as string) || ',"end_of_message":"reached"}'
        else regexp_replace(cast({{ value }} as string), r'\}[ \t\r\n]++\z', ',"end_of_message":"reached"}')
    end
{%- endmacro %}
