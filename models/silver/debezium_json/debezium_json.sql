with

messages as (

    {{ json_messages(
        ref('messages'), ['debezium_json', 'debezium_mongodb'], statement='payload.ddl,ddl', key='message_key',
        fields='payload struct<' ~ debezium_fields() ~ '>, ' ~ debezium_fields()
    ) }}

),

-- Beside its schema a message stands in `payload`.
opened as (

    select
        messages.*,
        envelope.*,
        messages.exact.key as key_image,
        messages.exact.types,
        messages.exact.is_whole
    from messages
        lateral view inline(array({{ debezium_envelope('json') }})) envelope
        as sent_before, after_image, op, produced_ms, source, transaction, status, marker_id, statement_database, statement

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
