with

messages as (

    {{ json_messages(ref('messages'), 'drs_json', drs_fields(), statement='sql') }}

),

rows as (

    {{ drs_rows('messages', deleted_row_in='old') }}

),

changes as (

    {{ drs_changes('rows') }}

)

{{ outcomes('changes', without=['schema_name', 'transaction_row']) }}
