{#- Why a DataWorks message cannot be taken for what it says: struct<code, detail>, null if it can. `field` is the one that orders changes, `digits` its text. -#}
{% macro dataworks_problem(field, digits) -%}
    coalesce(
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
        {{ position_problem(field, digits) }},
        {{ time_problem('eventTime', 'event_time', 'milliseconds') }},
        {{ time_problem('systemTime', 'system_time', 'milliseconds') }},
        case
            when size(array_distinct(columns.name)) < size(array_distinct(columns))
                then {{ problem('duplicate_keys', "'schema gives a column two types'") }}
        end
    )
{%- endmacro %}
