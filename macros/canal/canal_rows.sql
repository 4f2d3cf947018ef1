{#- The rows of a Canal message as struct<new, old>; one of nulls for a message that is no row change. -#}
{% macro canal_rows() -%}
    posexplode(
        if(
            problem is null and kind = 'row_change',
            transform(row_images, (row, number) -> struct(row as new, get(old_images, number) as old)),
            array(cast(null as struct<new: map<string, string>, old: map<string, string>>))
        )
    )
{%- endmacro %}

{#- Whether a row image holds every column that the message gives a type. -#}
{% macro has_all_columns(image, types) -%}
    coalesce(forall(map_keys({{ types }}), name -> map_contains_key({{ image }}, name)), true)
{%- endmacro %}

{#- The row as it was: `old` holds the changed columns only; laid over a whole row in `data` it gives all of them. -#}
{% macro laid_over(changed, row_image, is_complete) -%}
    map_concat(
        if({{ is_complete }}, map_filter({{ row_image }}, (name, text) -> not map_contains_key({{ changed }}, name)), map()),
        {{ changed }}
    )
{%- endmacro %}
