{#-
    The rows of a history model as they were at a moment: `select * from {{ as_of(ref('orders_history'), "timestamp '2026-11-01'") }}`.
    `known` is another moment: only the changes that were known then count. Outside dbt the functions `gold.orders_as_of(moment)` and
    `gold.orders_as_known(valid, known)` are the same.
-#}
{% macro as_of(history, moment, known=none) -%}
    (
        select * from {{ history if known is none else adapter.as_known(history) ~ '(' ~ moment ~ ', ' ~ known ~ ')' }}
        {{ 'where ' ~ is_valid_at(moment) if known is none }}
    )
{%- endmacro %}

{% macro is_valid_at(moment) -%}
    (valid_from is null or valid_from <= {{ moment }}) and (is_current or valid_to > {{ moment }})
{%- endmacro %}
