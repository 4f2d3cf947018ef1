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

{{ outcomes('changes', without=['transaction_row']) }}
