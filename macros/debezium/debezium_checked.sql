{#-
    Debezium messages with the reason to reject one in `problem`. Needs the columns value, route_problem, json_problem, kind, operation,
    source_database, source_table, statement, op, source, produced_ms, before_image
    and after_image.
-#}
{% macro debezium_checked(read) -%}
select
    *,
    if(value is null, null, coalesce(
        route_problem,
        json_problem,
        case
            when kind is null and op is null
                then {{ problem('unknown_operation', "'op is missing; rows without one are of the format debezium_flat_json'") }}
            when kind is null then {{ problem('unknown_operation', "'op is ' || op") }}
        end,
        {{ incomplete_change("coalesce(op, 'ddl')") }},
        case
            when op in ('c', 'r', 'u') and coalesce(size(after_image), 0) = 0 then {{ problem('missing_image', "op || ' without after'") }}
            when op = 'd' and coalesce(size(before_image), 0) = 0 then {{ problem('missing_image', "'d without before, and without a key'") }}
        end,
        case
            when
                op in ('c', 'u', 'd', 't') and {{ debezium_gives_places('source') }}
                and coalesce(source.file, source.lsn, source.commit_lsn, source.scn) is null
                then {{ problem('wrong_type', "op || ' without a position in source'") }}
        end,
        {{ position_problem('source.file', binlog_number('source')) }},
        {{ position_problem('source.pos', 'source.pos') }},
        {{ position_problem('source.row', 'source.row') }},
        {{ position_problem('source.lsn', 'source.lsn') }},
        {{ position_problem('source.sequence', "get_json_object(source.sequence, '$[0]')") }},
        {{ position_problem('source.scn', 'source.scn') }},
        {{ position_problem('source.txSeq', 'source.txseq') }},
        {{ position_problem('source.event_serial_no', 'source.event_serial_no') }},
        {{ lsn_problem('source.commit_lsn', 'source.commit_lsn') }},
        {{ lsn_problem('source.change_lsn', 'source.change_lsn') }},
        {{ time_problem('source.ts_ms', 'source.ts_ms', 'milliseconds') }},
        {{ time_problem('ts_ms', 'produced_ms', 'milliseconds') }}
    )) as problem
from {{ read }}
{%- endmacro %}

{#- Why a field is not an LSN of SQL Server: struct<code, detail>, null if it is one or is missing. -#}
{% macro lsn_problem(field, lsn) -%}
    case
        when {{ lsn }} is not null and not {{ lsn }} rlike r'^[0-9A-Fa-f]{8}:[0-9A-Fa-f]{8}:[0-9A-Fa-f]{4}\z'
            then {{ problem('wrong_type', "'" ~ field ~ " is ' || " ~ lsn) }}
    end
{%- endmacro %}
