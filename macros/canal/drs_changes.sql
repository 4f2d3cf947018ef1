{#-
    The changes of DRS in Canal's envelope. `old` is the whole row before the change, so it completes a `data` that lacks columns.
    Times are read in the form of either dialect. Needs the columns of `canal_rows`, of which dbtype is a field that only DRS has,
    time_zone, partition and offset.
-#}
{% macro drs_changes(rows) -%}
select
    *,
    case type when 'DELETE' then row_image when 'UPDATE' then old_image end as before,
    case
        when type = 'UPDATE' and old_image is not null then {{ laid_over('row_image', 'if(old_looks_whole, old_image, map())') }}
        when type <> 'DELETE' then row_image
    end as after,
    if(type = 'DELETE' or (type = 'UPDATE' and old_image is not null), false, null) as before_is_complete,
    if(type <> 'DELETE', type <> 'UPDATE' and {{ has_all_columns('row_image', 'types') }}, null) as after_is_complete,
    -- Types of MySQL have a field of their own.
    coalesce(lower(nullif(dbtype, '')), if(mysqltype is not null, 'mysql', null)) as source_type,
    {{ canal_sequence('id', 'es', ['partition', 'offset'], 'row_number') }} as sequence
from (
    select
        *,
        {{ has_all_columns('old_image', 'coalesce(types, row_image)') }} as old_looks_whole
    from (
        select
            *,
            {{ canonical_drs_image('image.new', 'types', 'mysqltype is not null', 'time_zone') }} as row_image,
            {{ canonical_drs_image('image.old', 'types', 'mysqltype is not null', 'time_zone') }} as old_image
        from ({{ canal_changes(rows, full_load='INIT') }})
    )
)
{%- endmacro %}
