{#-
    What every gold row says of the change it comes from. The materialization keeps these columns but `_image`, from which it
    tells the values that do not fit their type and those that the change does not carry, `_is_whole`, `_is_replaced`, and of
    a history when the change was known.
-#}
{% macro change_columns() -%}
    {{ adapter.gold.check(model) -}}
    sequence as _sequence,
    committed_at as _committed_at,
    operation as _operation,
    source_table as _source_table,
    topic as _topic,
    partition as _partition,
    offset as _offset,
    row_number as _row_number,
    bronze_version as _bronze_version,
    image as _image,
    is_whole as _is_whole,
    is_replaced as _is_replaced
    {{- ',\n    loaded_at as ' ~ adapter.gold.known_at(model) if adapter.gold.known_at(model) }}
{%- endmacro %}
