with

messages as (

    select
        *,
        {{ exact_json(oms_default_fields(), statement='postStruct.ddl') }} as exact
    from {{ ref('messages') }}
    where format = 'oms_default_extend'

),

envelopes as (

    select
        *,
        {{ read_json(oms_default_fields()) }} as json
    from messages

),

-- `__light_type` tells the types of its image's columns. Where it holds none, it is a column of that name.
read as (

    select
        *,
        json.*,
        exact.problem as json_problem,
        {{ light_type_members('json.prevstruct') }} as prev_members,
        {{ light_type_members('json.poststruct') }} as post_members,
        {{ light_types('prev_members') }} as prev_types,
        {{ light_types('post_members') }} as post_types,
        if(prev_types is null, json.prevstruct, {{ without_light_type('json.prevstruct') }}) as prev_image,
        if(post_types is null, json.poststruct, {{ without_light_type('json.poststruct') }}) as post_image,
        if(json.recordtype = 'DDL', json.poststruct['ddl'], null) as statement,
        exact.stated,
        nullif(json.allmetadata['timestamp'], '') as commit_seconds,
        nullif(json.allmetadata['storeDataSequence'], '') as store_sequence,
        {{ oms_default_kind() }} as kind,
        {{ truncated_tables("json.allmetadata['table_name']") }} as truncated,
        {{ dropped_tables("json.allmetadata['table_name']") }} as dropped,
        coalesce(get(truncated, 0).table_name, nullif(json.allmetadata['table_name'], '')) as source_table,
        {{ database_or_default(without_tenant("json.allmetadata['db']"), 'kind') }} as source_database
    from envelopes

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

changes as (

    select
        *,
        if(problem is null, kind, 'rejected') as outcome,
        if(problem is null and kind = 'row_change', recordtype, null) as row_operation,
        split(nullif(allmetadata['record_primary_key'], ''), '\u0001') as key_columns,
        if(problem is null, map_from_entries(array_distinct(map_entries(prev_types))), null) as before_types,
        if(problem is null, map_from_entries(array_distinct(map_entries(post_types))), null) as after_types
    from checked

)

select
    topic,
    partition,
    offset,
    0 as row_number,
    format,
    outcome as kind,
    case row_operation when 'ROW' then 'snapshot' when 'REPLACE' then 'insert' else lower(row_operation) end as operation,
    if(outcome = 'rejected', null, source_database) as database_name,
    cast(null as string) as schema_name,
    if(outcome = 'rejected', null, source_table) as table_name,
    if(outcome = 'row_change', key_columns, null) as key_columns,
    if(row_operation in ('UPDATE', 'DELETE'), {{ canonical_oms_image('prev_image', 'before_types') }}, null) as before,
    if(row_operation <> 'DELETE', {{ canonical_oms_image('post_image', 'after_types') }}, null) as after,
    if(row_operation in ('UPDATE', 'DELETE'), true, null) as before_is_complete,
    if(row_operation <> 'DELETE', true, null) as after_is_complete,
    if(outcome = 'row_change', coalesce(after_types, before_types), null) as column_types,
    if(outcome = 'rejected', null, lower(nullif(allmetadata['dbType'], ''))) as source_type,
    if(outcome in ('schema_change', 'truncate'), statement, null) as ddl,
    if(outcome = 'schema_change', dropped, null) as dropped_tables,
    if(outcome = 'rejected', null, {{ epoch_to_timestamp('commit_seconds', 'seconds') }}) as committed_at,
    cast(null as timestamp) as produced_at,
    ingested_at,
    if(outcome in ('row_change', 'schema_change', 'truncate'), {{ oms_sequence('store_sequence', 'commit_seconds') }}, null) as sequence,
    if(outcome = 'rejected', null, coalesce(nullif(allmetadata['transId'], ''), nullif(allmetadata['uniqueId'], ''))) as transaction_id,
    cast(null as bigint) as transaction_row,
    problem.code as reject_reason,
    problem.detail as reject_detail,
    bronze_version
from changes
