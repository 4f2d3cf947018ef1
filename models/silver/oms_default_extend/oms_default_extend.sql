with

messages as (

    {{ json_messages(
        ref('messages'), 'oms_default_extend',
        'recordType string, allMetaData map<string, string>, prevStruct map<string, string>, postStruct map<string, string>',
        statement='postStruct.ddl'
    ) }}

),

read as (

    {{ oms_default_read('messages') }}

),

-- `__light_type` tells the types of its image's columns. Where it holds none, it is a column of that name.
images as (

    select
        *,
        from_json(prevstruct['__light_type'], 'map<string, map<string, string>>') as prev_members,
        from_json(poststruct['__light_type'], 'map<string, map<string, string>>') as post_members,
        transform_values(prev_members, (name, members) -> members['schemaType']) as prev_types,
        transform_values(post_members, (name, members) -> members['schemaType']) as post_types,
        if(prev_types is null, prevstruct, map_filter(prevstruct, (name, text) -> name <> '__light_type')) as prev_image,
        if(post_types is null, poststruct, map_filter(poststruct, (name, text) -> name <> '__light_type')) as post_image
    from read

),

checked as (

    {{ oms_default_checked('images', prev_image='prev_image', post_image='post_image') }}

),

members_checked as (

    select
        * except (problem),
        coalesce(
            problem,
            case
                when {{ has_two_types('prev_types', 'prev_members') }} or {{ has_two_types('post_types', 'post_members') }}
                    then {{ problem('duplicate_keys', "'__light_type gives a column two types'") }}
                when prev_types is null and left(prevstruct['__light_type'], 1) = '{'
                    then {{ problem('wrong_type', "'__light_type of prevStruct is no object of types'") }}
                when post_types is null and left(poststruct['__light_type'], 1) = '{'
                    then {{ problem('wrong_type', "'__light_type of postStruct is no object of types'") }}
            end
        ) as problem
    from checked

),

-- The types of a rejected message may be no map.
typed as (

    select
        *,
        if(problem is null, map_from_entries(array_distinct(map_entries(prev_types))), null) as before_types,
        if(problem is null, map_from_entries(array_distinct(map_entries(post_types))), null) as after_types
    from members_checked

),

described as (

    {{ oms_default_changes('typed') }}

),

changes as (

    select
        *,
        if(recordtype in ('UPDATE', 'DELETE'), {{ canonical_oms_image('prev_image', 'before_types') }}, null) as before,
        if(recordtype <> 'DELETE', {{ canonical_oms_image('post_image', 'after_types') }}, null) as after,
        coalesce(after_types, before_types) as column_types
    from described

)

{{ result_rows(
    'changes',
    has=['key_columns', 'column_types', 'source_type', 'ddl', 'dropped_tables', 'committed_at', 'transaction_id']
) }}
