with

-- A converter with schemas writes the schema and the row beside it; one without them writes the row alone.
messages as (

    {{ json_messages(
        ref('messages'), 'debezium_flat_json', key='message_key', fields='payload map<string, string> comment "or the document"'
    ) }}

),

opened as (

    select
        *,
        json.payload as sent,
        exact.key as key_image,
        exact.types,
        exact.is_whole
    from messages

),

-- A null value deletes the row that the key of the message names. What the transform adds to a row begins with two underscores.
read as (

    select
        *,
        if((sent is null and json_problem is null) or sent['__deleted'] = 'true', 'd', coalesce(sent['__op'], 'u')) as op,
        null as statement,
        sent['__source_ts_ms'] as source_ms,
        sent['__ts_ms'] as produced_ms,
        case op when 'c' then 'insert' when 'r' then 'snapshot' when 'u' then 'update' when 'd' then 'delete' end as operation,
        case when op in ('c', 'r', 'u', 'd') then 'row_change' end as kind,
        null as stated,
        coalesce(map_filter(sent, (name, text) -> not startswith(name, '__')), {{ debezium_row_key() }}) as image,
        {{ source_names(
            debezium_added('db'), 'coalesce(' ~ debezium_added('table') ~ ", route_table, split_part(topic, '.', -1))"
        ) }}
    from opened

),

checked as (

    select
        *,
        coalesce(
            route_problem,
            json_problem,
            case when kind is null then {{ problem('unknown_operation', "'__op is ' || op") }} end,
            {{ incomplete_change('op') }},
            case when coalesce(size(image), 0) = 0 then {{ problem('missing_image', "op || ' without a row, and without a key'") }} end,
            {{ time_problem('__source_ts_ms', 'source_ms', 'milliseconds') }},
            {{ time_problem('__ts_ms', 'produced_ms', 'milliseconds') }}
        ) as problem
    from read

),

-- The messages of a key stand in one partition, in the order of its changes; a null value says nothing but its place there.
changes as (

    select
        *,
        0 as row_number,
        source_database as database_name,
        coalesce({{ debezium_added('schema') }}, route_schema) as schema_name,
        source_table as table_name,
        coalesce(route_key, map_keys({{ debezium_row_key() }})) as key_columns,
        if(op = 'd', image, null) as before,
        if(op = 'd', null, image) as after,
        if(op = 'd', false, null) as before_is_complete,
        if(op = 'd', null, is_whole) as after_is_complete,
        types as column_types,
        {{ debezium_added('connector') }} as source_type,
        {{ epoch_to_timestamp('source_ms', 'milliseconds') }} as committed_at,
        {{ epoch_to_timestamp('produced_ms', 'milliseconds') }} as produced_at,
        {{ sequence(['partition', 'offset']) }} as sequence,
        coalesce({{ debezium_added('transaction_id') }}, {{ debezium_added('txId') }}) as transaction_id
    from checked

)

{{ result_rows(
    'changes',
    has=['row_number', 'schema_name', 'key_columns', 'column_types', 'source_type', 'committed_at', 'produced_at', 'transaction_id']
) }}
