with

messages as (

    {{ json_messages(
        ref('messages'),
        ['drs_json', 'drs_json_c'],
        canal_fields() ~ ', columnType map<string, string>, dbType string',
        statement='sql'
    ) }}

),

-- A deleted row is in `old`, of JSON-C in `data`, unless the route says otherwise.
rows as (

    {{ canal_rows(
        'messages',
        full_load='INIT',
        types='coalesce(json.mysqltype, json.columntype)',
        deleted_in="if(format = 'drs_json', 'old', 'data')"
    ) }}

),

changes as (

    {{ drs_changes('rows') }}

)

{{ result_rows(
    'changes',
    has=['row_number', 'key_columns', 'column_types', 'source_type', 'ddl', 'dropped_tables', 'committed_at', 'produced_at', 'transaction_id']
) }}
