with

messages as (

    select
        *,
        decode_dts_avro(value, avro_schema) as record
    from {{ ref('messages') }}
    where format = 'dts_avro'

),

rows as (

    {{ avro_rows('messages', timestamp='sourceTimestamp') }}

),

changes as (

    {{ dts_changes('rows') }}

)

{{ result_rows(
    'changes',
    has=['row_number', 'schema_name', 'key_columns', 'column_types', 'source_type', 'ddl', 'dropped_tables', 'committed_at', 'produced_at', 'transaction_id']
) }}
