{#-
    The kind of a DataWorks message, null for an op that DataWorks does not document. `payload` is the field of that name,
    `row_operations` are the format's words for row changes.
-#}
{% macro dataworks_kind(payload, row_operations, value='value', stated='stated') -%}
    case
        when {{ value }} is null then 'control'
        when {{ payload }}.op in ('{{ row_operations | join("', '") }}') then 'row_change'
        when {{ payload }}.op = 'TRUNCATE' then 'truncate'
        when
            {{ payload }}.op in ('CREATE', 'ALTER', 'ERASE', 'RENAME', 'CINDEX', 'DINDEX')
            or ({{ payload }}.op = 'QUERY' and {{ payload }}.ddl.text <> '')
            then {{ ddl_kind(stated) }}
        when {{ payload }}.op in ('QUERY', 'GTID', 'XACOMMIT', 'XAROLLBACK') then 'control'
        when {{ payload }}.op in ('HEARTBEAT', 'MHEARTBEAT') then 'heartbeat'
        when {{ payload }}.op in ('TRANSACTION_BEGIN', 'TRANSACTION_END') then lower({{ payload }}.op)
    end
{%- endmacro %}
