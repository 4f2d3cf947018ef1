{#-
    Debezium messages with the reason to reject one in `problem`. Needs the columns format, value, route_problem, json_problem, kind,
    operation, source_database, source_table, statement, op, source, transaction, produced_ms, before_image and after_image.
-#}
{% macro debezium_checked(read) -%}
select
    *,
    if(value is null or (op is null and {{ is_wrapped_null('value') }}), null, coalesce(
        route_problem,
        {{ debezium_refused('format', 'value', 'json_problem', 'source', 'coalesce(after_image, before_image)') }},
        json_problem,
        case
            when kind is null and op is null and {{ debezium_member('value', 'specversion') }} is not null
                then {{ problem('unknown_operation', "'a CloudEvent without iodebeziumop: let the converter write extension attributes "
                    ~ "(value.converter.extension.attributes.enable)'") }}
            when kind is null and op is null
                then {{ problem('unknown_operation', "'op is missing, and status, ddl, databaseName and ts_ms, which other messages have; "
                    ~ "rows without an envelope are of the format debezium_flat_json'") }}
            when kind is null then {{ problem('unknown_operation', "'op is ' || op") }}
        end,
        {{ incomplete_change("coalesce(op, 'ddl')") }},
        case
            when op in ('c', 'r', 'u') and coalesce(size(after_image), 0) = 0 then {{ problem('missing_image', "op || ' without after'") }}
            when op = 'd' and coalesce(size(before_image), 0) = 0 then {{ problem('missing_image', "'d without before, and without a key'") }}
        end,
        {{ debezium_position_problem('source', 'op', 'transaction') }},
        {{ time_problem('source.ts_ms', 'source.ts_ms', 'milliseconds') }},
        {{ time_problem('ts_ms', 'produced_ms', 'milliseconds') }}
    )) as problem
from {{ read }}
{%- endmacro %}
