{#- The rows of a Canal message as struct<new, old>; one of nulls for a message that is no row change, or for each table of a TRUNCATE. -#}
{% macro canal_rows() -%}
    {%- set rows = 'array<struct<new: map<string, string>, old: map<string, string>>>' -%}
    posexplode(
        if(
            problem is null and kind = 'row_change',
            cast(arrays_zip(row_images, coalesce(old_images, array())) as {{ rows }}),
            cast(array_repeat(null, {{ rows_of_truncate() }}) as {{ rows }})
        )
    )
{%- endmacro %}
