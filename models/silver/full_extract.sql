with

-- The key of a message says whose row it is; the message without a value says that the extract is whole.
keyed as (

    select
        * except (value),
        value is null as is_end,
        coalesce(value, cast('{}' as binary)) as value,
        from_json(
            cast(message_key as string),
            'database string, schema string, table string, taken_at string, key array<string>, is_partial boolean, rows bigint'
        ) as said
    from {{ ref('messages') }}

),

messages as (

    {{ json_messages('keyed', 'full_extract', fields='row map<string, string>') }}

),

read as (

    select
        messages.*,
        coalesce(messages.said.is_partial, false) as is_partial,
        try_to_timestamp(messages.said.taken_at, 'yyyy-MM-dd HH:mm:ss') as taken_at,
        -- Behind the last change before it: of the characters in a sequence ! sorts first. Then what it has not goes, then its rows come.
        concat_ws(
            '.',
            coalesce(places.place, '') || '!' || lpad(unix_seconds(taken_at) + 62135596800, 20, '0'),
            lpad(messages.partition, 20, '0'),
            case when not messages.is_end then '1.' || lpad(messages.offset, 20, '0') when is_partial then '2' else '0' end
        ) as sequence
    from messages
    left join {{ extract_places() }} as places
        on messages.topic = places.topic and messages.partition = places.partition

),

changes as (

    select
        *,
        if(is_end, 'control', 'row_change') as kind,
        if(is_partial, 'update', 'snapshot') as operation,
        said.database as database_name,
        said.schema as schema_name,
        said.table as table_name,
        said.key as key_columns,
        cast(null as map<string, string>) as before,
        json.row as after,
        cast(null as boolean) as before_is_complete,
        not is_partial as after_is_complete,
        taken_at as committed_at,
        if(is_end, said.rows, offset) as transaction_row,
        coalesce(
            if(route_problem.code = 'too_large', route_problem, null),
            json_problem,
            case
                when said.table is null or taken_at is null
                    then {{ problem('missing_table', "'no message of `lakehouse ingest snapshot`: its key names no table and moment'") }}
                when not is_end and coalesce(size(json.row), 0) = 0 then {{ problem('missing_image', "'a row without columns'") }}
            end
        ) as problem
    from read

)

{{ result_rows('changes', has=['schema_name', 'key_columns', 'committed_at', 'transaction_row'], has_place='true') }}
