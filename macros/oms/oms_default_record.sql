{#- What an OMS Default message says beside its images, as columns of the step that reads it. -#}
{% macro oms_default_record() -%}
json.*,
if(json.recordtype = 'DDL', json.poststruct['ddl'], null) as statement,
nullif(json.allmetadata['timestamp'], '') as commit_seconds,
nullif(json.allmetadata['storeDataSequence'], '') as store_sequence,
{{ oms_default_kind() }} as kind,
{{ source_names(without_tenant("json.allmetadata['db']"), "json.allmetadata['table_name']") }}
{%- endmacro %}

{#- The same as columns of silver.events. -#}
{% macro oms_default_change() -%}
case recordtype when 'ROW' then 'snapshot' when 'REPLACE' then 'insert' else lower(recordtype) end as operation,
source_database as database_name,
source_table as table_name,
split(nullif(allmetadata['record_primary_key'], ''), '\u0001') as key_columns,
if(recordtype in ('UPDATE', 'DELETE'), true, null) as before_is_complete,
if(recordtype <> 'DELETE', true, null) as after_is_complete,
lower(allmetadata['dbType']) as source_type,
statement as ddl,
{{ epoch_to_timestamp('commit_seconds', 'seconds') }} as committed_at,
{{ oms_sequence('store_sequence', 'commit_seconds') }} as sequence,
coalesce(nullif(allmetadata['transId'], ''), allmetadata['uniqueId']) as transaction_id
{%- endmacro %}
