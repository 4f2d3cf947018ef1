{#-
    Adds the columns of silver.events that a decoded record has to the rows of Avro messages. Needs the columns record, row_number,
    truncated, source_database and source_table.
-#}
{% macro avro_changes(rows) -%}
select
    *,
    if(record.operation = 'INIT', 'snapshot', lower(record.operation)) as operation,
    source_database as database_name,
    coalesce(get(truncated, row_number).schema_name, record.schema_name) as schema_name,
    coalesce(get(truncated, row_number).table_name, source_table) as table_name,
    record.key_columns,
    if(record.operation in ('UPDATE', 'DELETE'), record.before, null) as before,
    if(record.operation <> 'DELETE', record.after, null) as after,
    if(record.operation in ('UPDATE', 'DELETE'), record.before_is_complete, null) as before_is_complete,
    if(record.operation <> 'DELETE', record.after_is_complete, null) as after_is_complete,
    record.column_types,
    lower(record.source_type) as source_type,
    record.ddl,
    {{ epoch_to_timestamp('cast(record.source_timestamp as string)', 'seconds') }} as committed_at,
    record.transaction_id
from {{ rows }}
{%- endmacro %}
