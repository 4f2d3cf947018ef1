{#-
    The JSON of `value`, looked through for `read_json`: struct<text, problem: struct<code, detail>, stated>. `text` is there
    where the reader would alter something, `problem` where the value is not one JSON object with these fields, and `stated`
    is what the DDL in the member `statement` does (udfs/exact_json.py).
-#}
{% macro exact_json(fields, statement='') -%}
    exact_json(value, '{{ fields }}', '{{ statement }}')
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
