with

messages as (

    {{ json_messages(ref('messages'), 'oms_default', oms_default_fields(), statement='postStruct.ddl') }}

),

read as (

    select
        *,
        {{ oms_default_record() }},
        json.prevstruct as prev_image,
        json.poststruct as post_image
    from messages

),

changes as (

    select
        *,
        if(value is null, null, {{ oms_default_problem() }}) as problem,
        {{ oms_default_change() }},
        if(recordtype in ('UPDATE', 'DELETE'), prev_image, null) as before,
        if(recordtype <> 'DELETE', post_image, null) as after
    from read

)

{{ outcomes('changes', without=['row_number', 'schema_name', 'column_types', 'produced_at', 'transaction_row']) }}
