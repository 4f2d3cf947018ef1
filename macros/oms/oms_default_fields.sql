{#- The fields of OMS Default, for `json_messages`. -#}
{% macro oms_default_fields() -%}
    recordType string, allMetaData map<string, string>, prevStruct map<string, string>, postStruct map<string, string>
{%- endmacro %}

{#- The kind of an OMS Default record, null for a record type that OMS does not document. -#}
{% macro oms_default_kind() -%}
    case
        when value is null then 'control'
        when json.recordtype in ('INSERT', 'UPDATE', 'DELETE', 'ROW', 'REPLACE') then 'row_change'
        when json.recordtype = 'DDL' then {{ ddl_kind() }}
        when json.recordtype = 'HEARTBEAT' then 'heartbeat'
        when json.recordtype = 'BEGIN' then 'transaction_begin'
        when json.recordtype in ('COMMIT', 'ROLLBACK') then 'transaction_end'
    end
{%- endmacro %}
