{#-
    The rows of Canal messages: one per row of a message, with its images as struct<new, old>, and one without images for a message
    that is no row change, or per table of a TRUNCATE. `full_load` is the dialect's word for the rows of a full load, `types` its
    field of column types, `heartbeat` the dialect's word for a heartbeat. The row of a DELETE stands in `deleted_in`, SQL for data or
    old, or in the other field where only that is filled: of every dialect there are such writers. The route has the last word. Needs the columns of
    `json_messages` with `canal_fields`, delete_image, route_database and route_problem.
-#}
{% macro canal_rows(messages, full_load=none, types='json.mysqltype', deleted_in="'data'", heartbeat='MHEARTBEAT') -%}
{%- set images = 'array<struct<new: map<string, string>, old: map<string, string>>>' -%}
select
    *,
    if(problem is null, sent_types, null) as types,
    posexplode(
        if(
            problem is null and kind = 'row_change',
            cast(arrays_zip(row_images, coalesce(old_images, array())) as {{ images }}),
            cast(array_repeat(null, if(problem is null, coalesce(size(truncated), 1), 1)) as {{ images }})
        )
    ) as (row_number, image)
from (
    select
        *,
        if(value is null, null, coalesce(
            route_problem,
            json_problem,
            case when kind is null then {{ problem('unknown_operation', "'type is ' || coalesce(type, 'missing')") }} end,
            {{ incomplete_change('type') }},
            case
                when kind = 'row_change' and coalesce(size(row_images), 0) = 0
                    then {{ problem('missing_image', "type || ' without rows in ' || image_field") }}
                when kind = 'row_change' and {{ any_of('row_images', is_empty_image) }}
                    then {{ problem('missing_image', "type || ' with a row that is empty'") }}
                when kind = 'row_change' and old_images is not null and size(old_images) <> size(row_images)
                    then {{ problem('wrong_type', "'old has ' || size(old_images) || ' rows, data has ' || size(row_images)") }}
            end,
            {{ position_problem('id', 'id') }},
            {{ time_problem('es', 'es', 'milliseconds') }},
            {{ time_problem('ts', 'ts', 'milliseconds') }}
        )) as problem
    from ({{ canal_read(messages, full_load, types, deleted_in, heartbeat) }})
)
{%- endmacro %}
