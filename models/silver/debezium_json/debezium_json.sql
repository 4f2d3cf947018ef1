with

messages as (

    {{ json_messages(
        ref('messages'), 'debezium_json', statement='payload.ddl,ddl',
        fields='schema ' ~ debezium_schema() ~ ', payload struct<' ~ debezium_fields() ~ '>, ' ~ debezium_fields()
    ) }}

),

-- Beside its schema a message stands in `payload`.
opened as (

    select
        messages.*,
        envelope.*,
        {{ debezium_key() }} as key_image
    from messages
        lateral view inline(array({{ debezium_envelope('json') }})) envelope
        as sent_before, after_image, op, produced_ms, source, transaction, status, marker_id, statement_database, statement

),

-- A table without a replica identity has deletes without a row: the key of the message is what is known of it.
read as (

    select
        *,
        case op when 'c' then 'insert' when 'r' then 'snapshot' when 'u' then 'update' when 'd' then 'delete' end as operation,
        case
            when value is null or op = 'm' then 'control'
            when op in ('c', 'r', 'u', 'd') then 'row_change'
            when op = 't' then 'truncate'
            when op is not null then null
            when status = 'BEGIN' then 'transaction_begin'
            when status = 'END' then 'transaction_end'
            when statement <> '' then {{ ddl_kind('stated') }}
            when statement_database is not null then 'control'
            when produced_ms is not null and source is null then 'heartbeat'
        end as kind,
        if(op = 'd', coalesce(sent_before, key_image), sent_before) as before_image,
        get(filter(json.schema.fields, image -> image.field in ('before', 'after')), 0).fields as sent_columns,
        {{ debezium_types('sent_columns') }} as types,
        {{ source_names('coalesce(source.db, statement_database)', 'source.table', source_type='source.connector') }}
    from opened

),

checked as (

    {{ debezium_checked('read') }}

),

-- PostgreSQL sends null for what its replica identity leaves out of a before image.
canonical as (

    select
        *,
        debezium_image(
            if(source.connector = 'postgresql', map_filter(before_image, (name, text) -> text is not null), before_image), types
        ) as before,
        debezium_image(after_image, types) as after
    from checked

),

changes as (

    select
        *,
        0 as row_number,
        source_database as database_name,
        source.schema as schema_name,
        source_table as table_name,
        map_keys(key_image) as key_columns,
        if(before is null, null, false) as before_is_complete,
        if(after is null, null, size(after) = size(after_image)) as after_is_complete,
        if(size(types) > 0, types, null) as column_types,
        source.connector as source_type,
        statement as ddl,
        {{ epoch_to_timestamp('source.ts_ms', 'milliseconds') }} as committed_at,
        {{ epoch_to_timestamp('produced_ms', 'milliseconds') }} as produced_at,
        {{ debezium_sequence('source', 'produced_ms', 'message_key', ['partition', 'offset']) }} as sequence,
        coalesce(transaction.id, marker_id, source.gtid, source.txid) as transaction_id,
        try_cast(transaction.total_order as bigint) as transaction_row
    from canonical

)

{{ outcomes('changes') }}
