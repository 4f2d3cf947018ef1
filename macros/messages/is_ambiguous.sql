{#- Whether an object of the message names one key twice with different values. -#}
{% macro is_ambiguous(object) -%}
    size(array_distinct(map_entries({{ object }}))) > size(array_distinct(map_keys({{ object }})))
{%- endmacro %}
