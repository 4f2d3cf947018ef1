{#- A row image with some of its columns replaced: `columns` in place of what `image` holds of them. -#}
{% macro laid_over(columns, image) -%}
    map_concat(
        map_filter({{ image }}, (name, text) -> not map_contains_key({{ columns }}, name)),
        {{ columns }}
    )
{%- endmacro %}

{#- `laid_over` where only a whole image says what the other columns hold: over a part of one, `columns` stay alone. -#}
{% macro laid_over_whole(columns, image, is_whole) -%}
    {{ laid_over(columns, 'if(' ~ is_whole ~ ', ' ~ image ~ ', map())') }}
{%- endmacro %}
