with

messages as (

    {{ json_messages(ref('messages'), 'oms_default_extend', oms_default_fields(), statement='postStruct.ddl') }}

),

-- `__light_type` tells the types of its image's columns. Where it holds none, it is a column of that name.
read as (

    select
        *,
        {{ oms_default_record() }},
        {{ light_type_members('json.prevstruct') }} as prev_members,
        {{ light_type_members('json.poststruct') }} as post_members,
        {{ light_types('prev_members') }} as prev_types,
        {{ light_types('post_members') }} as post_types,
        if(prev_types is null, json.prevstruct, {{ without_light_type('json.prevstruct') }}) as prev_image,
        if(post_types is null, json.poststruct, {{ without_light_type('json.poststruct') }}) as post_image
    from messages

),

checked as (

    select
        *,
        if(value is null, null, coalesce(
            {{ oms_default_problem() }},
            case
                when {{ has_two_types('prev_types', 'prev_members') }} or {{ has_two_types('post_types', 'post_members') }}
                    then {{ problem('duplicate_keys', "'__light_type gives a column two types'") }}
                when prev_types is null and left(prevstruct['__light_type'], 1) = '{'
                    then {{ problem('wrong_type', "'__light_type of prevStruct is no object of types'") }}
                when post_types is null and left(poststruct['__light_type'], 1) = '{'
                    then {{ problem('wrong_type', "'__light_type of postStruct is no object of types'") }}
            end
        )) as problem
    from read

),

typed as (

    select
        *,
        if(problem is null, map_from_entries(array_distinct(map_entries(prev_types))), null) as before_types,
        if(problem is null, map_from_entries(array_distinct(map_entries(post_types))), null) as after_types
    from checked

),

changes as (

    select
        *,
        {{ oms_default_change() }},
        if(recordtype in ('UPDATE', 'DELETE'), {{ canonical_oms_image('prev_image', 'before_types') }}, null) as before,
        if(recordtype <> 'DELETE', {{ canonical_oms_image('post_image', 'after_types') }}, null) as after,
        coalesce(after_types, before_types) as column_types
    from typed

)

{{ outcomes('changes', without=['row_number', 'schema_name', 'produced_at', 'transaction_row']) }}
