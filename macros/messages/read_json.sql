{#-
    The JSON of `value`, looked through for `read_json`: struct<text, problem: struct<code, detail>>. `text` is there where
    the reader would alter something, `problem` where the value is not one JSON object with these fields (udfs/exact_json.py).
-#}
{% macro exact_json(fields) -%}
    exact_json(value, '{{ fields }}')
{%- endmacro %}

{#-
    The fields of a message that `exact`, the `exact_json` of the same fields, has no problem with. Without these options a
    text of more than 20 million characters, or a number of more than 1,000 digits, would be no JSON.
-#}
{% macro read_json(fields) -%}
    from_json(
        if(exact.problem is null, coalesce(exact.text, cast(value as string)), null),
        '{{ fields }}',
        map('maxStringLen', '{{ var('max_message_bytes') }}', 'maxNumLen', '5000')
    )
{%- endmacro %}
