with

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
        decode_oceanbase_avro(value, avro_schema) as record
    from {{ ref('messages') }}
    where format = 'oceanbase_avro' and oceanbase_shard(value, avro_schema) is null
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

rows as (

    {{ avro_rows(
        'records', timestamp='timestamp', database=without_tenant('record.database_name'), source_type='null', is_waiting='is_waiting'
    ) }}

),

described as (

    {{ avro_changes('rows') }}

),

changes as (

    select
        *,
        -- id grows through the whole stream. A waiting shard has its record's, by which its siblings find it.
        {{ sequence(['record.id']) }} as sequence
    from described

)

{{ result_rows(
    'changes',
    has=['row_number', 'key_columns', 'column_types', 'source_type', 'ddl', 'dropped_tables', 'committed_at', 'transaction_id'],
    has_place="(is_waiting or kind in ('row_change', 'schema_change', 'truncate'))"
) }}
