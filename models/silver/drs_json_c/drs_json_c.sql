with

messages as (

    {{ json_messages(ref('messages'), 'drs_json_c', canal_fields() ~ ', columnType map<string, string>, dbType string', statement='sql') }}

),

-- A deleted row is in `data`, unless the route says otherwise.
rows as (

    {{ canal_rows('messages', full_load='INIT', types='coalesce(json.mysqltype, json.columntype)') }}

),

changes as (

    {{ drs_changes('rows') }}

)

{{ outcomes('changes', without=['schema_name', 'transaction_row']) }}
