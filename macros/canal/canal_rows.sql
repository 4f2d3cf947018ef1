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
