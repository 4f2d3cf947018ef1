{#- A row image with some of its columns replaced: `columns` in place of what `image` holds of them. -#}
{% macro laid_over(columns, image) -%}
    map_concat(
        map_filter({{ image }}, (name, text) -> not map_contains_key({{ columns }}, name)),
        {{ columns }}
    )
{%- endmacro %}
