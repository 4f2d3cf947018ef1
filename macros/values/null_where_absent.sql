{#-
    A row image of a format that leaves nulls out: a column that the image `before` has and this one lacks is null in it. Gold keeps in
    an update what its image does not carry.
-#}
{% macro null_where_absent(image, before) -%}
    {{ laid_over(image, 'transform_values(coalesce(' ~ before ~ ', map()), (name, text) -> cast(null as string))') }}
{%- endmacro %}
