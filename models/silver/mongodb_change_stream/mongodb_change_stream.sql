with

messages as (

    {{ json_messages(
        ref('messages'), 'mongodb_change_stream', key='message_key', fields='
        _id struct<_data string, copyingData string>, operationType string, ns struct<db string, coll string>,
        `to` struct<db string, coll string>, clusterTime struct<t string comment "a number", i string comment "a number">,
        wallTime string, lsid string, txnNumber string, splitEvent map<string, string>,
        before map<string, string>, after map<string, string>'
    ) }}

),

opened as (

    select
        messages.*,
        event.*
    from messages
        lateral view inline(array(json)) event
        as id, word, ns, renamed, clock, wall_time, session_id, transaction_number, split_event, before_image, after_image

),

read as (

    select
        *,
        id._data as token,
        clock.t as seconds,
        clock.i as ordinal,
        case
            when value is null or word = 'invalidate' then 'control'
            when word in ('insert', 'replace', 'update', 'delete') then 'row_change'
            when
                word in (
                    'drop', 'rename', 'dropDatabase', 'create', 'modify', 'createIndexes', 'dropIndexes', 'shardCollection',
                    'refineCollectionShardKey', 'reshardCollection'
                )
                then 'schema_change'
        end as kind,
        case
            when word = 'insert' and id.copyingdata = 'true' then 'snapshot'
            when word in ('replace', 'update') and exact.is_whole then 'insert'
            else word
        end as operation,
        if(word = 'delete', null, after_image) as after,
        before_image as before,
        coalesce(nullif(ns.db, ''), route_database) as source_database,
        nullif(ns.coll, '') as source_table,
        {{ iso_to_timestamp('wall_time') }} as moment
    from opened

),

checked as (

    select
        *,
        if(value is null, null, coalesce(
            route_problem,
            json_problem,
            case
                when split_event is not null
                    then {{ problem('missing_image', "'a part of an event: take $changeStreamSplitLargeEvent out of the pipeline'") }}
                when word is null
                    then {{ problem('unknown_operation', "'operationType is missing: documents alone are of the format rows'") }}
                when kind is null then {{ problem('unknown_operation', "'operationType is ' || word") }}
                when kind <> 'control' and source_table is null and word <> 'dropDatabase'
                    then {{ problem('missing_table', "word || ' without ns.coll'") }}
                when word = 'rename' and nullif(renamed.coll, '') is null then {{ problem('missing_table', "'rename without to.coll'") }}
                when kind <> 'control' and source_database is null
                    then {{ problem('missing_database', "word || ' without ns.db: name it in seeds/topics.csv'") }}
                when kind = 'row_change' and word <> 'delete' and after is null
                    then {{ problem('missing_image', "word || ' without fullDocument'") }}
                when kind = 'row_change' and not coalesce(map_contains_key(coalesce(after, before), '_id'), false)
                    then {{ problem('missing_image', "word || ' without documentKey'") }}
                when kind <> 'control' and operation <> 'snapshot' and (seconds is null or ordinal is null)
                    then {{ problem('wrong_type', "word || ' without clusterTime'") }}
                when wall_time is not null and moment is null then {{ problem('wrong_type', "'wallTime is ' || wall_time") }}
            end,
            {{ position_problem('clusterTime.t', 'seconds') }},
            {{ position_problem('clusterTime.i', 'ordinal') }}
        )) as problem
    from read

),

changes as (

    select
        *,
        source_database as database_name,
        source_table as table_name,
        coalesce(route_key, array('_id')) as key_columns,
        if(before is null, null, false) as before_is_complete,
        if(after is null, null, exact.is_whole) as after_is_complete,
        if(size(exact.types) > 0, exact.types, null) as column_types,
        'mongodb' as source_type,
        -- What had the new name of a collection before is gone as well.
        if(
            word in ('drop', 'rename', 'dropDatabase'),
            transform(
                array_compact(array(ns, if(word = 'rename', renamed, null))),
                named -> struct(nullif(named.db, '') as database_name, cast(null as string) as schema_name, named.coll as table_name)
            ),
            null
        ) as dropped_tables,
        coalesce(moment, {{ epoch_to_timestamp('seconds', 'seconds') }}) as committed_at,
        session_id || ':' || transaction_number as transaction_id,
        -- Changes may share a time: those of a transaction, and inserts that are logged together. Tokens sort as their events do. Behind
        -- the time a token has the number in the transaction, within the next sixteen bytes; the hash tells the rest of it.
        if(
            token rlike r'^[0-9A-Fa-f]{18,}\z',
            {{ sequence(['seconds', 'ordinal'] + [
                "conv(rpad(substring(token, 19, 16), 16, '0'), 16, 10)",
                "conv(rpad(substring(token, 35, 16), 16, '0'), 16, 10)",
                "conv(left(md5(token), 16), 16, 10)"
            ]) }},
            {{ sequence(["coalesce(seconds, '0')", "coalesce(ordinal, '0')", "'0'", 'partition', 'offset']) }}
        ) as sequence
    from checked

)

{{ result_rows('changes', has=['key_columns', 'column_types', 'source_type', 'dropped_tables', 'committed_at', 'transaction_id']) }}
