{#- The rows of a step of silver as seeds/protected_columns.csv wants them in a layer, silver or gold. -#}
{% macro protected(step, layer) -%}
    {{ adapter.protection.rows_of(step, layer, is_only_looked_at()) }}
{%- endmacro %}
