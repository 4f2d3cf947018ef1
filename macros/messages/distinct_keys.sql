{#-
    An object of the message with each key once; Spark's JSON reader keeps a repeated one. An object that has just the keys
    of `like`, each of them once, needs no look. `repeats` says whether it has a repeated one, where that is known.
-#}
{% macro distinct_keys(object, like=none, repeats=none) -%}
    if(
        {% if like %}map_keys({{ object }}) = map_keys({{ like }}) or {% endif %}not {{ repeats or has_repeated_keys(object) }},
        {{ object }},
        map_from_entries(array_distinct(map_entries({{ object }})))
    )
{%- endmacro %}
