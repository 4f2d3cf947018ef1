{#-
    The row images of source tables, for the `from` of a gold model: `from {{ row_images('shop.orders') }}`. Several names may be given;
    in a part of a name `*` is any text: `'shop_*.orders_*'`. A name that holds a dot stands in backticks. The manifest has them under
    `meta.source_tables` of the model.
-#}
{% macro row_images() -%}
    {% do config(meta={'source_tables': varargs | list}) -%}
    (select * from {{ ref('row_images') }} where {{ adapter.gold.rows_of_tables(varargs) }}) as row_images
{%- endmacro %}
