{#-
    The rows of a history model as they were at a moment: `select * from {{ as_of(ref('orders_history'), "timestamp '2026-11-01'") }}`.
    Outside dbt the function `gold.orders_as_of(moment)` is the same.
-#}
{% macro as_of(history, moment) -%}
    (
        select * from {{ history }}
        where (valid_from is null or valid_from <= {{ moment }}) and (is_current or valid_to > {{ moment }})
    )
{%- endmacro %}
