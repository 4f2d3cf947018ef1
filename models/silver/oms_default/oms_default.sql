with

messages as (

    {{ json_messages(
        ref('messages'), 'oms_default',
        'recordType string, allMetaData map<string, string>, prevStruct map<string, string>, postStruct map<string, string>',
        statement='postStruct.ddl'
    ) }}

),

read as (

    {{ oms_default_read('messages') }}

),

checked as (

    {{ oms_default_checked('read') }}

),

described as (

    {{ oms_default_changes('checked') }}

),

changes as (

    select
        *,
        if(recordtype in ('UPDATE', 'DELETE'), prevstruct, null) as before,
        if(recordtype <> 'DELETE', poststruct, null) as after
    from described

)

{{ result_rows('changes', has=['key_columns', 'source_type', 'ddl', 'dropped_tables', 'committed_at', 'transaction_id']) }}
