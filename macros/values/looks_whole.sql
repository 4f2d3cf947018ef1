{#-
    Whether nothing speaks against a Canal row that holds every column of its table: it has a value for each type that comes with
    it, and of an update either `old` names what has changed or the key is there, which MySQL's `binlog_row_image` MINIMAL
    leaves out. No proof that it does: Canal takes the types from the row itself, which with NOBLOB lacks unchanged columns.
-#}
{% macro looks_whole(row_image, old_image, types) -%}
    (
        {{ has_all_columns(row_image, types) }}
        and (
            coalesce(size({{ old_image }}) > 0, true)
            or coalesce(exists(pknames, name -> map_contains_key({{ row_image }}, name)), false)
        )
    )
{%- endmacro %}
