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

    select
        *,
        {{ avro_change() }},
        {{ born_at() }} as produced_at,
        {{ dts_sequence() }} as sequence
    from rows

)

{{ outcomes('changes', without=['transaction_row']) }}
