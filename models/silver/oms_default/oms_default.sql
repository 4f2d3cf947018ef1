with

messages as (

    select * from {{ ref('messages') }}
    where format = 'oms_default'

),

envelopes as (

    select
        *,
        {{ read_json(
            'value',
            'recordType string, allMetaData map<string, string>,'
            ~ ' prevStruct map<string, string>, postStruct map<string, string>',
            prepare=quote_numbers
        ) }} as json
    from messages

),

read as (

    select
        *,
        json.*,
        {{ json_problem('value', 'json') }} as json_problem,
        nullif(json.allmetadata['timestamp'], '') as commit_seconds,
        nullif(json.allmetadata['storeDataSequence'], '') as store_sequence,
        case
            when value is null then 'control'
            when json.recordtype in ('INSERT', 'UPDATE', 'DELETE', 'ROW', 'REPLACE') then 'row_change'
            when json.recordtype = 'DDL' then {{ ddl_kind("json.poststruct['ddl']") }}
            when json.recordtype = 'HEARTBEAT' then 'heartbeat'
            when json.recordtype = 'BEGIN' then 'transaction_begin'
            when json.recordtype in ('COMMIT', 'ROLLBACK') then 'transaction_end'
        end as kind,
        coalesce(nullif(json.allmetadata['table_name'], ''), {{ truncated_table("json.poststruct['ddl']") }}) as source_table,
        -- OceanBase names `tenant.database`; the tenant is not part of the database's name.
        {{ database_or_default("regexp_replace(json.allmetadata['db'], r'^[^.]*\.', '')", 'kind') }} as source_database
    from envelopes

),

checked as (

    select
        *,
        case
            when value is null then null
            when route_problem is not null then route_problem
            when json_problem is not null then json_problem
            when kind is null
                then {{ problem('unknown_operation', "'recordType is ' || coalesce(recordtype, 'missing')") }}
            when kind in ('row_change', 'truncate') and source_table is null
                then {{ problem('missing_table', "recordtype || ' without allMetaData.table_name'") }}
            when kind in ('row_change', 'truncate') and source_database is null
                then {{ problem('missing_database', "recordtype || ' without allMetaData.db: name it in seeds/topics.csv'") }}
            when recordtype in ('UPDATE', 'DELETE') and (prevstruct is null or size(prevstruct) = 0)
                then {{ problem('missing_image', "recordtype || ' without prevStruct'") }}
            when recordtype in ('INSERT', 'UPDATE', 'ROW', 'REPLACE') and (poststruct is null or size(poststruct) = 0)
                then {{ problem('missing_image', "recordtype || ' without postStruct'") }}
            when recordtype = 'DDL' and poststruct['ddl'] is null
                then {{ problem('missing_ddl', "'DDL without postStruct.ddl'") }}
            when commit_seconds is not null and not {{ is_epoch('commit_seconds', 'seconds') }}
                then {{ problem('wrong_type', "'timestamp is ' || commit_seconds") }}
            when store_sequence is not null and not store_sequence rlike '^[0-9]{1,30}$'
                then {{ problem('wrong_type', "'storeDataSequence is ' || store_sequence") }}
            when {{ is_ambiguous('allmetadata') }} or {{ is_ambiguous('prevstruct') }} or {{ is_ambiguous('poststruct') }}
                then {{ problem('duplicate_keys', "'a column comes twice with different values'") }}
        end as problem
    from read

),

changes as (

    select
        *,
        if(problem is null, kind, 'rejected') as outcome,
        if(problem is null and kind = 'row_change', recordtype, null) as row_operation,
        split(nullif(allmetadata['record_primary_key'], ''), '\u0001') as key_columns
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
    if(row_operation in ('UPDATE', 'DELETE'), {{ distinct_keys('prevstruct') }}, null) as before,
    if(row_operation <> 'DELETE', {{ distinct_keys('poststruct') }}, null) as after,
    if(row_operation in ('UPDATE', 'DELETE'), true, null) as before_is_complete,
    if(row_operation <> 'DELETE', true, null) as after_is_complete,
    cast(null as map<string, string>) as column_types,
    if(outcome in ('schema_change', 'truncate'), poststruct['ddl'], null) as ddl,
    if(outcome = 'rejected', null, {{ epoch_to_timestamp('commit_seconds', 'seconds') }}) as committed_at,
    cast(null as timestamp) as produced_at,
    ingested_at,
    -- storeDataSequence is seconds (ten digits) and a counter whose padding is not documented: two numbers, not one.
    -- Without it (full load, or switched off) the commit time and the delivery decide.
    case
        when outcome not in ('row_change', 'schema_change', 'truncate') then null
        when length(store_sequence) > 10
            then {{ sequence(['left(store_sequence, 10)', 'substr(store_sequence, 11)', "'0'", "'0'"]) }}
        else {{ sequence(["coalesce(nullif(commit_seconds, '-1'), '0')", "'0'", 'partition', 'offset']) }}
    end as sequence,
    if(outcome = 'rejected', null, coalesce(nullif(allmetadata['transId'], ''), nullif(allmetadata['uniqueId'], ''))) as transaction_id,
    cast(null as bigint) as transaction_row,
    problem.code as reject_reason,
    problem.detail as reject_detail,
    bronze_version
from changes
