{#-
    The rows of Canal messages: one for each row of a message, with its images as struct<new, old>, and one without images for
    a message that is no row change, or for each table of a TRUNCATE. `full_load` is the dialect's word for the rows of a full
    load, `types` its field of column types, `image_field` the name of the field that holds the rows.
-#}
{% macro canal_rows(messages, full_load=none, types='json.mysqltype', image_field="'data'") -%}
{%- set images = 'array<struct<new: map<string, string>, old: map<string, string>>>' -%}
select
    *,
    if(problem is null, sent_types, null) as types,
    posexplode(
        if(
            problem is null and kind = 'row_change',
            cast(arrays_zip(row_images, coalesce(old_images, array())) as {{ images }}),
            cast(array_repeat(null, {{ rows_of_truncate() }}) as {{ images }})
        )
    ) as (row_number, image)
from (
    select
        *,
        if(value is null, null, {{ canal_problem() }}) as problem
    from (
        select
            *,
            json.*,
            -- A row change may repeat the statement that made it.
            if(json.type in ('INSERT', 'UPDATE', 'DELETE', 'INIT', 'ROW'), null, json.sql) as statement,
            {{ canal_kind(full_load) }} as kind,
            {{ source_names('json.database', 'json.table') }},
            {{ types }} as sent_types,
            {{ image_field }} as image_field,
            if(image_field = 'old', json.old, json.data) as row_images,
            if(json.type = 'UPDATE', json.old, cast(null as array<map<string, string>>)) as old_images
        from {{ messages }}
    )
)
{%- endmacro %}
