{#-
    Maxwell's messages with the reason to reject one in `problem`. `place` says what is wrong with the place of a change: struct<code,
    detail>, null if nothing is. Needs the columns of `maxwell_read`, with data and xoffset, route_problem and
    json_problem.
-#}
{% macro maxwell_checked(read, place='null') -%}
select
    *,
    if(value is null, null, coalesce(
        route_problem,
        json_problem,
        case when kind is null then {{ problem('unknown_operation', "'type is ' || coalesce(type, 'missing')") }} end,
        {{ incomplete_change('type') }},
        case when kind = 'row_change' and coalesce(size(data), 0) = 0 then {{ problem('missing_image', "type || ' without data'") }} end,
        {{ place }},
        {{ position_problem('xoffset', 'xoffset') }},
        {{ time_problem('ts', 'ts_ms', 'milliseconds') }}
    )) as problem
from {{ read }}
{%- endmacro %}
