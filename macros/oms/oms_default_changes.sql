{#-
    OMS Default messages with the columns of silver.events that they tell beside their images. Needs the columns of `oms_default_read`,
    partition and offset. storeDataSequence is seconds (ten digits) and a counter whose padding is not documented: two
    numbers, not one. Without it (full load, or switched off) the commit time and the delivery decide the order.
-#}
{% macro oms_default_changes(checked) -%}
select
    *,
    case recordtype when 'ROW' then 'snapshot' when 'REPLACE' then 'insert' else lower(recordtype) end as operation,
    source_database as database_name,
    source_table as table_name,
    split(nullif(allmetadata['record_primary_key'], ''), '\u0001') as key_columns,
    if(recordtype in ('UPDATE', 'DELETE'), true, null) as before_is_complete,
    if(recordtype <> 'DELETE', true, null) as after_is_complete,
    lower(allmetadata['dbType']) as source_type,
    statement as ddl,
    {{ epoch_to_timestamp('commit_seconds', 'seconds') }} as committed_at,
    if(
        length(store_sequence) > 10,
        {{ sequence(['left(store_sequence, 10)', 'substr(store_sequence, 11)', "'0'", "'0'"]) }},
        {{ sequence(["coalesce(nullif(commit_seconds, '-1'), '0')", "'0'", 'partition', 'offset']) }}
    ) as sequence,
    coalesce(nullif(allmetadata['transId'], ''), allmetadata['uniqueId']) as transaction_id
from {{ checked }}
{%- endmacro %}
