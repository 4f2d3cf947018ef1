{#- The rows of a history as they were at a moment; `then` is the function that gives those known at another, with both moments. -#}
{% macro rows_as_of(history, moment, then=none) -%}
    (
        select * from {{ history if then is none else then }}
        {{ 'where ' ~ is_valid_at(moment) if then is none }}
    )
{%- endmacro %}

{% macro is_valid_at(moment) -%}
    (valid_from is null or valid_from <= {{ moment }}) and (is_current or valid_to > {{ moment }})
{%- endmacro %}
