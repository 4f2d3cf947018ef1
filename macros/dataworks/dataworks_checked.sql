{#-
    DataWorks messages with the reason to reject one in `problem`, and their columns as array<struct<name, type>>. `field` is the name
    of the field that orders changes, `position` its value. Needs the columns value, route_problem, json_problem, kind, source_database,
    source_table, statement, op, sent_columns (a list of {name, type} objects), before_image, after_image, event_time and system_time.
-#}
{% macro dataworks_checked(read, field, position) -%}
select
    *,
    if(value is null, null, coalesce(
        route_problem,
        json_problem,
        case when kind is null then {{ problem('unknown_operation', "'op is ' || coalesce(op, 'missing')") }} end,
        {{ incomplete_change('op') }},
        case
            when op in ('UPDATE', 'UPDATE_BEFOR', 'UPDATE_BEFORE', 'DELETE') and coalesce(size(before_image), 0) = 0
                then {{ problem('missing_image', "op || ' without columns in payload.before'") }}
            when op in ('INSERT', 'UPDATE', 'UPDATE_AFTER') and coalesce(size(after_image), 0) = 0
                then {{ problem('missing_image', "op || ' without columns in payload.after'") }}
        end,
        {{ position_problem(field, position) }},
        {{ time_problem('eventTime', 'event_time', 'milliseconds') }},
        {{ time_problem('systemTime', 'system_time', 'milliseconds') }},
        case
            when size(array_distinct(columns.name)) < size(array_distinct(columns))
                then {{ problem('duplicate_keys', "'schema gives a column two types'") }}
        end
    )) as problem
from (
    select
        *,
        transform(
            filter(sent_columns, sent -> sent['name'] is not null),
            sent -> struct(sent['name'] as name, sent['type'] as type)
        ) as columns
    from {{ read }}
)
{%- endmacro %}
