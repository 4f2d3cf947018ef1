{#- Why a message is not the JSON object that it should be: struct<code, detail>, null if it is one. -#}
{% macro json_problem(value, json, field_names) -%}
    {%- set text = 'cast(' ~ value ~ ' as string)' -%}
    case
        when octet_length({{ value }}) = 0
            then {{ problem('empty_value', "'the value has no bytes'") }}
        when not is_valid_utf8({{ text }})
            then {{ problem('not_utf8', "'the value is not UTF-8: ' || left(hex(" ~ value ~ "), 200)") }}
        when {{ json }}.end_of_message is null or ({{ json }}.malformed is not null and try_parse_json({{ text }}) is null)
            then {{ problem('not_json', "'not one JSON object: ' || left(" ~ text ~ ", 200)") }}
        when {{ json }}.malformed is not null
            then {{ problem('wrong_type', "'a field is not of its type: ' || left(" ~ text ~ ", 200)") }}
        when {{ has_repeated_names(field_names) }}
            then {{ problem('duplicate_keys', "'a field comes twice: ' || concat_ws(', ', " ~ field_names ~ ")") }}
        when {{ has_lone_surrogate(text) }}
            then {{ problem('not_utf8', "'half of a surrogate pair, which is no character: ' || left(" ~ text ~ ", 200)") }}
    end
{%- endmacro %}

{#- Whether a JSON text escapes half of a character; the reader would put a question mark in its place. -#}
{% macro has_lone_surrogate(text) -%}
    contains({{ text }}, r'\u')
    and {{ text }} rlike r'\\u[dD][89a-fA-F]'
    and replace({{ text }}, r'\\', '')
    rlike r'\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]'
{%- endmacro %}
