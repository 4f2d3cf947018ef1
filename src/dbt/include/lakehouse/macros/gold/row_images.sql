{#-
    The row images of source tables, for the `from` of a gold model: `from {{ row_images('shop.orders') }}`. Several names may be given;
    in a part of a name `*` is any text: `'shop_*.orders_*'`. A name that holds a dot stands in backticks. The manifest has them under
    `meta.source_tables` of the model. A column whose YAML says `meta: {formerly: [order_no]}` has its values of that name under its
    newest one. dbt shows a unit test no YAML of its model: give its rows the newest names.
-#}
{% macro row_images() -%}
    {% do config(meta={'source_tables': varargs | list}) -%}
    (select {{ adapter.sources.columns_of_images(model) }} from {{ ref('row_images') }} where {{ adapter.sources.rows_of_tables(varargs) }}) as row_images
{%- endmacro %}
