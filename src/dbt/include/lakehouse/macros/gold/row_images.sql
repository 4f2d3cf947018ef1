{#-
    The row images of source tables, for the `from` of a gold model: `from {{ row_images('shop.orders') }}`. Several names may be given;
    in a part of a name `*` is any text: `'shop_*.orders_*'`. A name that holds a dot stands in backticks. `stars=['tenant', 'part']` gives
    columns that tell what each star matches; `source_table` has the whole name. The manifest has the names under `meta.source_tables`. A
    column whose YAML says `meta: {formerly: [order_no]}` has its values of that name under its newest one. dbt shows a unit test no YAML of
    its model: give its rows the newest names.
-#}
{% macro row_images() -%}
    {% do config(meta={'source_tables': varargs | list}) -%}
    {{ adapter.sources.row_images(model, ref('row_images'), varargs, kwargs) }}
{%- endmacro %}
