{#-
    Maxwell's messages with the columns of silver.events that they tell beside their order; one row per message. `old` has the columns
    that an update changed, as they were; what it lacks was as it is. Needs the columns of `maxwell_checked`, with data, old, xid and xoffset, route_key and message_key.
-#}
{% macro maxwell_changes(checked) -%}
select
    *,
    0 as row_number,
    source_database as database_name,
    source_table as table_name,
    coalesce(route_key, json.primary_key_columns, nullif({{ maxwell_key_columns() }}, array())) as key_columns,
    case type when 'update' then {{ laid_over('coalesce(old, map())', 'data') }} when 'delete' then data end as before,
    case type when 'update' then {{ null_where_absent('data', 'old') }} when 'delete' then null else data end as after,
    if(type in ('update', 'delete'), true, null) as before_is_complete,
    if(type = 'delete', null, true) as after_is_complete,
    'mysql' as source_type,
    statement as ddl,
    {{ epoch_to_timestamp('ts_ms', 'milliseconds') }} as committed_at,
    xid as transaction_id,
    try_cast(xoffset as bigint) as transaction_row
from {{ checked }}
{%- endmacro %}

{#- The columns in the key that Maxwell writes for Kafka, {"database":..., "table":..., "pk.id":...}; empty in another form of it. -#}
{% macro maxwell_key_columns(key='message_key') -%}
    transform(
        filter(map_keys(from_json(cast({{ key }} as string), 'map<string, string>')), name -> startswith(name, 'pk.')),
        name -> substring(name, 4)
    )
{%- endmacro %}
