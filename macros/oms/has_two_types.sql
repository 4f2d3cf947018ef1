{#-
    Whether a `__light_type` gives a column two types: `members` is what it says of each column, `types` the type of each. A map out of
    `from_json` keeps repeated keys, and `exact_json` looks into no object in a text.
-#}
{% macro has_two_types(types, members) -%}
    exists(
        concat(array({{ types }}), map_values({{ members }})),
        object -> size(array_distinct(map_entries(object))) > size(array_distinct(map_keys(object)))
    )
{%- endmacro %}
