with

messages as (

    {{ json_messages(ref('messages'), 'oms_debezium', 'payload struct<' ~ oms_debezium_fields() ~ '>') }}

),

changes as (

    {{ oms_debezium_changes('messages', 'json.payload') }}

)

{{ outcomes('changes', without=[
    'schema_name', 'key_columns', 'column_types', 'ddl', 'dropped_tables', 'transaction_id', 'transaction_row'
]) }}
