{#-
    The images of Canal rows, in the dialects whose `old` has only the changed columns: the row completes it if the row looks whole.
    A row looks whole if it has a value for each type that comes with it and, in an update, if `old` names a changed column or the
    row has a key column: MySQL's `binlog_row_image` MINIMAL leaves the key out. That is no proof: Canal takes the types from the
    row itself, which with NOBLOB lacks unchanged columns, so the row of an update is never marked complete. Needs the columns type,
    pknames, types, row_image and old_image.
-#}
{% macro canal_images(rows) -%}
select
    *,
    case type
        when 'DELETE' then row_image
        when 'UPDATE' then {{ laid_over('old_image', 'if(looks_whole, row_image, map())') }}
    end as before,
    if(type = 'DELETE', null, row_image) as after,
    if(type = 'DELETE' or (type = 'UPDATE' and old_image is not null), false, null) as before_is_complete,
    if(type <> 'DELETE', type <> 'UPDATE' and looks_whole, null) as after_is_complete
from (
    select
        *,
        (
            {{ has_all_columns('row_image', 'types') }}
            and (
                coalesce(size(old_image) > 0, true)
                or coalesce(exists(pknames, name -> map_contains_key(row_image, name)), false)
            )
        ) as looks_whole
    from {{ rows }}
)
{%- endmacro %}
