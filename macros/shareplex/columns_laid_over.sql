{#- A row after an update: the changed columns in place of what the row held before; `row_image` may be null. -#}
{% macro columns_laid_over(changed, row_image) -%}
    map_concat(
        map_filter(coalesce({{ row_image }}, map()), (name, text) -> not map_contains_key({{ changed }}, name)),
        {{ changed }}
    )
{%- endmacro %}
