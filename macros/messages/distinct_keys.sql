{#- An object of the message with each key once; Spark's JSON reader keeps a repeated one. -#}
{% macro distinct_keys(object) -%}
    if(
        size(array_distinct(map_keys({{ object }}))) < size({{ object }}),
        map_from_entries(array_distinct(map_entries({{ object }}))),
        {{ object }}
    )
{%- endmacro %}
