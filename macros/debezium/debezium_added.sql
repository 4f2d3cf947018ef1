{#-
    What the transform that flattens Debezium's messages has added to a row, by `add.fields`: `__table` for `table`, `__source_table` for
    `source.table`.
-#}
{% macro debezium_added(name, sent='sent') -%}
    coalesce({{ sent }}['__{{ name }}'], {{ sent }}['__source_{{ name }}'])
{%- endmacro %}
