{#- The names of a table that a statement drops, `dropped`, or else those of its row of `events`. -#}
{% macro names_of_dropped_table() -%}
    {{ adapter.silver.names_of_dropped_table() }}
{%- endmacro %}
