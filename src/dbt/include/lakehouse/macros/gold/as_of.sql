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

{% macro create_function_as_of(table) -%}
    create or replace function {{ table.view.schema }}.{{ adapter.quote(table.view.identifier.removesuffix('_history') ~ '_as_of') }}(moment timestamp)
    returns table
    comment {{ dbt.string_literal('The rows of ' ~ table.view ~ ' as they were at a moment.') }}
    return select * from {{ as_of(table.view, 'moment') }}
{%- endmacro %}
