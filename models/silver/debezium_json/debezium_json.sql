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
        {{ debezium_key() }} as key_image,
        get(filter(json.schema.fields, image -> image.field in ('before', 'after')), 0).fields as sent_columns,
        {{ debezium_types('sent_columns') }} as types
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

{{ outcomes('changes') }}
