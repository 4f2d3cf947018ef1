{#-
    What OMS Default messages say: the kind, which is null for a record type that OMS does not document, and the tables that they
    are about. Needs the columns of `json_messages` with the fields recordType, allMetaData, prevStruct and postStruct, and
    route_database.
-#}
{% macro oms_default_read(messages) -%}
select
    *,
    json.*,
    if(json.recordtype = 'DDL', json.poststruct['ddl'], null) as statement,
    nullif(json.allmetadata['timestamp'], '') as commit_seconds,
    nullif(json.allmetadata['storeDataSequence'], '') as store_sequence,
    case
        when value is null then 'control'
        when json.recordtype in ('INSERT', 'UPDATE', 'DELETE', 'ROW', 'REPLACE') then 'row_change'
        when json.recordtype = 'DDL' then {{ ddl_kind() }}
        when json.recordtype = 'HEARTBEAT' then 'heartbeat'
        when json.recordtype = 'BEGIN' then 'transaction_begin'
        when json.recordtype in ('COMMIT', 'ROLLBACK') then 'transaction_end'
    end as kind,
    {{ source_names(without_tenant("json.allmetadata['db']"), "json.allmetadata['table_name']") }}
from {{ messages }}
{%- endmacro %}
