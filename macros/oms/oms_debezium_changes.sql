{#-
    OMS's messages in the form of Debezium with the columns of silver.events that they tell; one row per message. `envelope` is what
    holds the members. A row of the full load has no time and no place. Needs the columns of `json_messages`, partition, offset,
    route_database and route_problem.
-#}
{% macro oms_debezium_changes(messages, envelope) -%}
select
    *,
    0 as row_number,
    source_database as database_name,
    source_table as table_name,
    if(op in ('u', 'd'), image_before, null) as before,
    case op when 'c' then image_after when 'u' then {{ null_where_absent('image_after', 'image_before') }} end as after,
    if(op in ('u', 'd'), true, null) as before_is_complete,
    if(op in ('c', 'u'), true, null) as after_is_complete,
    lower(source.connector) as source_type,
    {{ epoch_to_timestamp('committed_ms', 'milliseconds') }} as committed_at,
    {{ epoch_to_timestamp('produced_ms', 'milliseconds') }} as produced_at,
    {{ sequence(["coalesce(second, '0')", "coalesce(number, '0')", 'partition', 'offset']) }} as sequence
from ({{ oms_debezium_checked(oms_debezium_read(messages, envelope)) }})
{%- endmacro %}

{#-
    What the messages say: their members, kind and table. `pos` is a number in a second, `553132@1668496109`. Needs the columns value,
    json and route_database.
-#}
{% macro oms_debezium_read(messages, envelope) -%}
select
    *,
    {{ envelope }}.op,
    {{ envelope }}.source,
    {{ envelope }}.before as image_before,
    {{ envelope }}.after as image_after,
    {{ envelope }}.ts_ms as produced_ms,
    if(length(source.ts_ms) > 11, source.ts_ms, source.ts_ms || '000') as committed_ms,
    nullif(regexp_extract(source.pos, r'^([0-9]{1,20})@[0-9]{1,20}\z', 1), '') as number,
    nullif(regexp_extract(source.pos, r'^[0-9]{1,20}@([0-9]{1,20})\z', 1), '') as second,
    case op when 'c' then if(coalesce(source.ts_ms, '0') = '0', 'snapshot', 'insert') when 'u' then 'update' when 'd' then 'delete' end as operation,
    case when value is null then 'control' when op in ('c', 'u', 'd') then 'row_change' when op = 'HEARTBEAT' then 'heartbeat' end as kind,
    if(kind = 'row_change', coalesce(nullif(source.db, ''), route_database), null) as source_database,
    nullif(source.table, '') as source_table,
    null as statement
from {{ messages }}
{%- endmacro %}

{#-
    The same with the reason to reject a message in `problem`. Needs the columns value, route_problem, json_problem, kind, op, source,
    second, image_before, image_after, committed_ms, produced_ms, statement, source_database and source_table.
-#}
{% macro oms_debezium_checked(read) -%}
select
    *,
    if(value is null, null, coalesce(
        route_problem,
        json_problem,
        case when kind is null then {{ problem('unknown_operation', "'op is ' || coalesce(op, 'missing')") }} end,
        {{ incomplete_change('op') }},
        case
            when op in ('c', 'u') and coalesce(size(image_after), 0) = 0 then {{ problem('missing_image', "op || ' without after'") }}
            when op in ('u', 'd') and coalesce(size(image_before), 0) = 0 then {{ problem('missing_image', "op || ' without before'") }}
            when kind = 'row_change' and source.pos <> '' and second is null
                then {{ problem('wrong_type', "'source.pos is ' || source.pos || ', which is no number@second'") }}
        end,
        {{ time_problem('source.ts_ms', 'committed_ms', 'milliseconds') }},
        {{ time_problem('ts_ms', 'produced_ms', 'milliseconds') }}
    )) as problem
from ({{ read }})
{%- endmacro %}
