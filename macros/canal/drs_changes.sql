{#- The fields of DRS in Canal's envelope, for `json_messages`. -#}
{% macro drs_fields() -%}
    {{ canal_fields(more=', columnType map<string, string>, dbType string') }}
{%- endmacro %}

{#-
    The rows of DRS in Canal's envelope. JSON and JSON-C are one format but for `deleted_row_in`, the field of a deleted row.
    Times are read in either's form, so that they need no second fact.
-#}
{% macro drs_rows(messages, deleted_row_in) -%}
select
    *,
    {{ canonical_drs_image('image.new', 'types', 'mysqltype is not null', 'time_zone') }} as row_image,
    {{ canonical_drs_image('image.old', 'types', 'mysqltype is not null', 'time_zone') }} as old_image
from (
    {{ canal_rows(
        messages, full_load='INIT', types='coalesce(json.mysqltype, json.columntype)', image_field=field_of_rows(deleted_row_in)
    ) }}
)
{%- endmacro %}

{#- The changes of DRS in Canal's envelope, where `old` is the whole row as it was, so that it completes a `data` which is not. -#}
{% macro drs_changes(rows) -%}
select
    *,
    {{ canal_change(full_load='INIT') }},
    case type when 'DELETE' then row_image when 'UPDATE' then old_image end as before,
    case
        when type = 'UPDATE' and old_image is not null then {{ laid_over_whole('row_image', 'old_image', 'old_looks_whole') }}
        when type <> 'DELETE' then row_image
    end as after,
    if(type = 'DELETE' or (type = 'UPDATE' and old_image is not null), false, null) as before_is_complete,
    if(type <> 'DELETE', type <> 'UPDATE' and {{ has_all_columns('row_image', 'types') }}, null) as after_is_complete,
    -- Types of MySQL have a field of their own.
    coalesce(lower(nullif(dbtype, '')), if(mysqltype is not null, 'mysql', null)) as source_type,
    case
        when id is not null then {{ sequence(['id', 'row_number']) }}
        else {{ sequence(["coalesce(nullif(es, '-1'), '0')", 'partition', 'offset', 'row_number']) }}
    end as sequence
from (
    select
        *,
        {{ has_all_columns('old_image', 'coalesce(types, row_image)') }} as old_looks_whole
    from {{ rows }}
)
{%- endmacro %}
