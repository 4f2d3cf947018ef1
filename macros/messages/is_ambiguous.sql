{#- Whether an object of the message names one key twice with different values; only where one comes twice are values compared. -#}
{% macro is_ambiguous(object) -%}
    {{ has_repeated_keys(object) }}
    and size(array_distinct(map_entries({{ object }}))) > size(array_distinct(map_keys({{ object }})))
{%- endmacro %}

{% macro has_repeated_keys(object) -%}
    {{ has_repeated_names('map_keys(' ~ object ~ ')') }}
{%- endmacro %}

{#- `reverse` hands over a copy: of a row's own array Spark reads each element only after a look into its settings. -#}
{% macro has_repeated_names(names) -%}
    size(array_distinct(reverse({{ names }}))) < size({{ names }})
{%- endmacro %}
