with

-- The schema is the user's; its records have the shape of DTS or that of OceanBase.
messages as (

    select
        *,
        decode_drs_avro(value, avro_schema) as record
    from {{ ref('messages') }}
    where format = 'drs_avro'

),

rows as (

    {{ avro_rows(
        'messages', timestamp='timestamp',
        database="if(record.shape = 'oceanbase', " ~ without_tenant('record.database_name') ~ ", record.database_name)"
    ) }}

),

described as (

    {{ dts_changes('rows') }}

),

changes as (

    select
        * except (sequence),
        if(record.shape = 'oceanbase', {{ sequence(['record.id', "'0'", "'0'"]) }}, sequence) as sequence
    from described

)

{{ result_rows(
    'changes',
    has=['row_number', 'schema_name', 'key_columns', 'column_types', 'source_type', 'ddl', 'dropped_tables', 'committed_at', 'produced_at', 'transaction_id']
) }}
