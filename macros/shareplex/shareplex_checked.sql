{#-
    SharePlex messages with the reason to reject one in `problem`. Needs the columns of `shareplex_read`, kind, row_operation,
    source_database, source_table, statement, value, route_problem and json_problem.
-#}
{% macro shareplex_checked(read) -%}
select
    *,
    if(value is null, null, coalesce(
        route_problem,
        json_problem,
        case when kind is null then {{ problem('unknown_operation', "'op is ' || coalesce(op, 'missing')") }} end,
        {{ incomplete_change('op') }},
        case
            when row_operation = 'update_before' and coalesce(size(data), 0) = 0 and coalesce(size(key), 0) = 0
                then {{ problem('missing_image', "op || ' without columns in data and in key'") }}
            -- An update that changes no column has an empty `data`; its `key` says which row.
            when
                row_operation <> 'update_before' and coalesce(size(data), 0) = 0
                and not coalesce(row_operation like 'update%' and data is not null and size(key) > 0, false)
                then {{ problem('missing_image', "op || ' without columns in data'") }}
            when row_operation = 'update' and coalesce(size(key), 0) = 0
                then {{ problem('missing_image', "op || ' without columns in key'") }}
        end,
        {{ position_problem('scn', 'scn') }},
        case
            when not seq rlike r'^[0-9]{1,18}\z' then {{ problem('wrong_type', "'seq is ' || seq") }}
            when time is not null and committed_at is null then {{ problem('wrong_type', "'time is ' || time") }}
            when posttime is not null and produced_at is null then {{ problem('wrong_type', "'posttime is ' || posttime") }}
        end
    )) as problem
from {{ read }}
{%- endmacro %}
