{#-
    Reads the messages of a JSON format, or of several with one envelope: `json` has the fields; it is null if `json_problem` says why
    the value is not one JSON object with these fields. `stated` is what the DDL in the member `statement` does (udfs/exact_json.py). Without the two options
    Spark would refuse a text of more than 20 million characters, or a number of more than 1,000 digits.

    With `key`, the column of the message's key, messages are those of Kafka Connect: `exact` has their `types`, `key` and `is_whole` as
    well (udfs/connect_json.py), and their rows are in canonical text. With `claim`, the path of the member that names a file outside Kafka,
    the message in the file is read in place of one that names it (udfs/claimed_json.py).
-#}
{% macro json_messages(messages, format, fields, statement='', key=none, claim=none) -%}
{%- set reader = 'connect_json' if key else 'claimed_json' if claim else 'exact_json' -%}
{%- set further = ', ' ~ key if key else ", '" ~ claim ~ "', " ~ var('max_message_bytes') if claim else '' -%}
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
        {{ reader }}(value, '{{ fields }}', '{{ statement }}'{{ further }}) as exact
    from {{ messages }}
    where format in ('{{ ([format] if format is string else format) | join("', '") }}')
)
{%- endmacro %}
