{#- The kind of a DataWorks message, null for an op that DataWorks does not know; `row_operations` are the format's words for row changes. -#}
{% macro dataworks_kind(row_operations) -%}
    case
        when value is null then 'control'
        when json.payload.op in ('{{ row_operations | join("', '") }}') then 'row_change'
        when json.payload.op = 'TRUNCATE' then 'truncate'
        when
            json.payload.op in ('CREATE', 'ALTER', 'ERASE', 'RENAME', 'CINDEX', 'DINDEX')
            or (json.payload.op = 'QUERY' and json.payload.ddl.text <> '')
            then {{ ddl_kind() }}
        when json.payload.op in ('QUERY', 'GTID', 'XACOMMIT', 'XAROLLBACK') then 'control'
        when json.payload.op in ('HEARTBEAT', 'MHEARTBEAT') then 'heartbeat'
        when json.payload.op in ('TRANSACTION_BEGIN', 'TRANSACTION_END') then lower(json.payload.op)
    end
{%- endmacro %}
