{#-
    The rows of a history model as they were at a moment: `select * from {{ as_of(ref('orders_history'), "timestamp '2026-11-01'") }}`.
    `known` is another moment: only the changes that were known then count. Outside dbt the functions `gold.orders_as_of(moment)` and
    `gold.orders_as_known(valid, known)` are the same.
-#}
{% macro as_of(history, moment, known=none) -%}
    {{ adapter.gold.rows_as_of(history, moment, known) }}
{%- endmacro %}
