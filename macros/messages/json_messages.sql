{#-
    The messages of a JSON format, read once: `json` has the fields, and is null where `json_problem` tells why the value is not one
    JSON object with them; `stated` is what the DDL in the member `statement` does (udfs/exact_json.py). Without the options a
    text of more than 20 million characters, or a number of more than 1,000 digits, would be no JSON.
-#}
{% macro json_messages(messages, format, fields, statement='') -%}
select
    *,
    exact.problem as json_problem,
    exact.stated,
    from_json(
        if(exact.problem is null, coalesce(exact.text, cast(value as string)), null),
        '{{ fields }}',
        map('maxStringLen', '{{ var('max_message_bytes') }}', 'maxNumLen', '5000')
    ) as json
from (
    select
        *,
        exact_json(value, '{{ fields }}', '{{ statement }}') as exact
    from {{ messages }}
    where format = '{{ format }}'
)
{%- endmacro %}
