with

messages as (

    {{ json_messages(ref('messages'), 'oms_debezium_flatten', oms_debezium_fields()) }}

),

changes as (

    {{ oms_debezium_changes('messages', 'json') }}

)

{{ outcomes('changes', without=[
    'schema_name', 'key_columns', 'column_types', 'ddl', 'dropped_tables', 'transaction_id', 'transaction_row'
]) }}
