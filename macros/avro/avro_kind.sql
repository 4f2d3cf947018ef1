{#- The kind of a decoded Avro record: the operations of DTS, of which OceanBase has a part; null without an operation. -#}
{% macro avro_kind() -%}
    case
        when value is null then 'control'
        when record.operation in ('INSERT', 'UPDATE', 'DELETE', 'INIT') then 'row_change'
        when record.operation in ('DDL', 'COMMAND') then {{ ddl_kind() }}
        when record.operation = 'HEARTBEAT' then 'heartbeat'
        when record.operation = 'BEGIN' then 'transaction_begin'
        when record.operation in ('COMMIT', 'ROLLBACK', 'ABORT') then 'transaction_end'
        when record.operation is not null then 'control'
    end
{%- endmacro %}
