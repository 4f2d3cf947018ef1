with

messages as (

    select * from {{ ref('messages') }}
    where format = 'oceanbase_avro'

),

decoded as (

    select
        *,
        decode_oceanbase_avro(value, avro_schema) as record
    from messages
    where oceanbase_shard(value, avro_schema) is null

),

-- A record in shards is put together from them; a shard that does not complete its record waits.
records as (

    select
        topic,
        partition,
        offset,
        format,
        value,
        ingested_at,
        bronze_version,
        route_database,
        route_problem,
        false as is_waiting,
        record
    from decoded
    union all
    select
        topic,
        partition,
        offset,
        format,
        value,
        ingested_at,
        bronze_version,
        route_database,
        route_problem,
        is_waiting,
        record
    from {{ ref('oceanbase_shards') }}

),

read as (

    select
        *,
        record.*,
        record.ddl as statement,
        if(is_waiting, 'control', {{ avro_kind() }}) as kind,
        {{ truncated_tables('record.table_name') }} as truncated,
        {{ dropped_tables('record.table_name') }} as dropped,
        {{ database_or_default(without_tenant('record.database_name'), 'kind') }} as source_database,
        coalesce(get(truncated, 0).table_name, nullif(record.table_name, '')) as source_table
    from records

),

checked as (

    select
        *,
        if(value is null, null, {{ avro_problem('timestamp') }}) as problem
    from read

),

changes as (

    select
        *,
        if(problem is null, kind, 'rejected') as outcome,
        if(problem is null and kind = 'row_change', lower(operation), null) as row_operation
    from checked

)

select
    topic,
    partition,
    offset,
    0 as row_number,
    format,
    outcome as kind,
    row_operation as operation,
    if(outcome = 'rejected', null, source_database) as database_name,
    cast(null as string) as schema_name,
    if(outcome = 'rejected', null, source_table) as table_name,
    if(outcome = 'row_change', key_columns, null) as key_columns,
    if(row_operation in ('update', 'delete'), before, null) as before,
    if(row_operation <> 'delete', after, null) as after,
    if(row_operation in ('update', 'delete'), before_is_complete, null) as before_is_complete,
    if(row_operation <> 'delete', after_is_complete, null) as after_is_complete,
    if(outcome = 'row_change', column_types, null) as column_types,
    if(outcome = 'rejected', null, lower(nullif(source_type, ''))) as source_type,
    if(outcome in ('schema_change', 'truncate'), ddl, null) as ddl,
    if(outcome = 'schema_change', dropped, null) as dropped_tables,
    if(outcome = 'rejected', null, {{ epoch_to_timestamp('cast(source_timestamp as string)', 'seconds') }}) as committed_at,
    cast(null as timestamp) as produced_at,
    ingested_at,
    -- id grows through the whole stream. A waiting shard has its record's, by which its siblings find it.
    if(
        outcome in ('row_change', 'schema_change', 'truncate') or (is_waiting and outcome <> 'rejected'),
        {{ sequence(['id']) }},
        null
    ) as sequence,
    if(outcome = 'rejected', null, transaction_id) as transaction_id,
    cast(null as bigint) as transaction_row,
    problem.code as reject_reason,
    problem.detail as reject_detail,
    bronze_version
from changes
