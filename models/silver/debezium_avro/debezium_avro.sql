with

-- Two runs may have asked for one schema.
schemas as (

    select
        registry,
        id,
        min(schema) as schema
    from {{ source('bronze', 'avro_schemas') }}
    group by registry, id

),

messages as (

    select
        messages.*,
        connect_avro(
            messages.value, of_values.schema, '{{ debezium_fields() }}', 'ddl', messages.message_key, of_keys.schema, messages.format
        ) as record
    from {{ ref('messages') }} as messages
    left join schemas as of_values
        on messages.avro_schema = of_values.registry and {{ registry_id('messages.value') }} = of_values.id
    left join schemas as of_keys
        on messages.avro_schema = of_keys.registry and {{ registry_id('messages.message_key') }} = of_keys.id
    where messages.format in ('debezium_avro', 'debezium_protobuf')

),

opened as (

    select
        *,
        record.problem as json_problem,
        record.stated,
        record.types,
        record.is_whole,
        record.key as key_image,
        from_json(record.text, '{{ debezium_fields() }}', map('maxStringLen', '{{ var('max_message_bytes') }}')) as envelope,
        envelope.before as sent_before,
        envelope.after as after_image,
        envelope.op,
        envelope.ts_ms as produced_ms,
        envelope.source,
        envelope.transaction,
        envelope.status,
        envelope.id as marker_id,
        envelope.databasename as statement_database,
        envelope.ddl as statement
    from messages

),

read as (

    {{ debezium_read('opened') }}

),

checked as (

    {{ debezium_checked('read') }}

),

changes as (

    {{ debezium_changes('checked') }}

)

{{ result_rows(
    'changes',
    has=['row_number', 'schema_name', 'key_columns', 'column_types', 'source_type', 'ddl', 'dropped_tables', 'committed_at', 'produced_at', 'transaction_id', 'transaction_row']
) }}
