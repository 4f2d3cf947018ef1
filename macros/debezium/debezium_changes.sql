{#-
    Debezium messages with the columns of silver.events that they tell beside their names; one row per message. Needs the columns of
    `debezium_checked`, topic's partition and offset, message_key, key_image, route_key, transaction and marker_id.
-#}
{% macro debezium_changes(checked) -%}
select
    *,
    0 as row_number,
    source_database as database_name,
    source.schema as schema_name,
    source_table as table_name,
    coalesce(route_key, map_keys(key_image)) as key_columns,
    if(before is null, null, false) as before_is_complete,
    if(after is null, null, size(after) = size(after_image)) as after_is_complete,
    if(size(types) > 0, types, null) as column_types,
    source.connector as source_type,
    statement as ddl,
    {{ epoch_to_timestamp('source.ts_ms', 'milliseconds') }} as committed_at,
    {{ epoch_to_timestamp('produced_ms', 'milliseconds') }} as produced_at,
    {{ debezium_sequence(
        'source', 'produced_ms', debezium_row('route_key', 'message_key', 'coalesce(after, before)'), ['partition', 'offset']
    ) }} as sequence,
    coalesce(transaction.id, marker_id, source.gtid, source.txid) as transaction_id,
    try_cast(transaction.total_order as bigint) as transaction_row
from (
    select
        *,
        -- PostgreSQL sends null for what its replica identity leaves out of the image before.
        debezium_image(
            if(source.connector = 'postgresql', map_filter(before_image, (name, text) -> text is not null), before_image), types
        ) as before,
        debezium_image(after_image, types) as after
    from {{ checked }}
)
{%- endmacro %}
