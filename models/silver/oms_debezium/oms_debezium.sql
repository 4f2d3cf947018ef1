with

messages as (

    {{ json_messages(ref('messages'), 'oms_debezium', 'payload struct<' ~ oms_debezium_fields() ~ '>') }}

),

changes as (

    {{ oms_debezium_changes('messages', 'json.payload') }}

)

{{ result_rows('changes', has=['row_number', 'source_type', 'committed_at', 'produced_at']) }}
