with

messages as (

    {{ json_messages(
        ref('messages'), 'aws_dms',
        'data map<string, string>, `before-image` map<string, string>, metadata struct<`timestamp`: string, `record-type`: string,
        operation: string, `schema-name`: string, `table-name`: string, `transaction-id`: string, `transaction-record-id`: string,
        `commit-timestamp`: string>'
    ) }}

),

opened as (

    select
        messages.*,
        parts.data,
        parts.before_image,
        said.*,
        nullif(said.named_schema, '') as owner,
        nullif(said.named_table, '') as source_table
    from messages
        lateral view inline(array(json)) parts as data, before_image, metadata
        lateral view inline(array(parts.metadata)) said
        as message_time, record_type, word, named_schema, named_table, transaction_id, record_number, commit_time

),

-- The tables of DMS itself have no schema. A null in a deleted row or in a before image may stand for a value that was not logged.
read as (

    select
        *,
        case
            when value is null or (record_type = 'control' and owner is null) then 'control'
            when record_type = 'data' and word in ('load', 'insert', 'update', 'delete') then 'row_change'
            when record_type = 'control' and word in ('truncate-table', 'TruncateTable') then 'truncate'
            when
                record_type = 'control'
                and word rlike r'^((create|rename|drop)-table|DropTable|(add|drop|rename)-column|change-columns|column-type-change)\z'
                then 'schema_change'
        end as kind,
        if(word = 'load', 'snapshot', word) as operation,
        coalesce(route_database, owner) as source_database,
        map_filter(
            case word when 'delete' then data when 'update' then before_image end, (name, text) -> text is not null
        ) as known_before,
        {{ iso_to_timestamp('commit_time') }} as committed_at,
        {{ iso_to_timestamp('message_time') }} as produced_at
    from opened

),

checked as (

    select
        *,
        if(value is null, null, coalesce(
            route_problem,
            json_problem,
            case
                when kind is null
                    then {{ problem('unknown_operation', "concat_ws(' ', 'operation is', record_type, coalesce(word, 'missing'))") }}
            end,
            {{ incomplete_change('word', statement='word') }},
            case
                when kind = 'row_change' and coalesce(size(data), 0) = 0 then {{ problem('missing_image', "word || ' without data'") }}
                when kind = 'row_change' and word = 'delete' and size(known_before) = 0
                    then {{ problem('missing_image', "'delete with nothing but nulls in data'") }}
                when produced_at is null or produced_at < timestamp '1970-01-01 00:00:00'
                    then {{ problem('wrong_type', "'timestamp is ' || coalesce(message_time, 'missing')") }}
                when commit_time is not null and committed_at is null
                    then {{ problem('wrong_type', "'commit-timestamp is ' || commit_time") }}
                when not record_number rlike r'^[0-9]{1,18}\z'
                    then {{ problem('wrong_type', "'transaction-record-id is ' || record_number") }}
            end
        )) as problem
    from read

),

changes as (

    select
        *,
        source_database as database_name,
        if(route_database is null, null, owner) as schema_name,
        source_table as table_name,
        route_key as key_columns,
        if(size(known_before) > 0, known_before, null) as before,
        -- Where nulls are left out, a column that the row had and has no longer is null.
        case
            when operation = 'update' and missing_columns = 'null'
                then {{ null_where_absent('data', 'known_before') }}
            when operation <> 'delete' then data
        end as after,
        if(size(known_before) > 0, false, null) as before_is_complete,
        if(operation = 'delete', null, coalesce(missing_columns = 'null', operation <> 'update')) as after_is_complete,
        case
            when word in ('drop-table', 'DropTable')
                then array(struct(cast(null as string) as database_name, cast(null as string) as schema_name, source_table as table_name))
        end as dropped_tables,
        try_cast(record_number as bigint) as transaction_row,
        -- The time when DMS wrote the message: rows of a load, changes and statements all have it.
        {{ sequence(['unix_micros(produced_at)', 'partition', 'offset']) }} as sequence
    from checked

)

{{ result_rows(
    'changes',
    has=['schema_name', 'key_columns', 'dropped_tables', 'committed_at', 'produced_at', 'transaction_id', 'transaction_row']
) }}
