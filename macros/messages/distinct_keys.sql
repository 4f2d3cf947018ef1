{#- An object of the message with each key once; Spark's JSON reader keeps a repeated one. -#}
{% macro distinct_keys(object) -%}
    if(
        {{ has_repeated_keys(object) }},
        map_from_entries(array_distinct(map_entries({{ object }}))),
        {{ object }}
    )
{%- endmacro %}
