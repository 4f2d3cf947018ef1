with

messages as (

    {{ json_messages(
        ref('messages'), 'ticdc_simple', statement='sql', claim='claimCheckLocation',
        fields='type string, database string, table string, sql string,
            commitTs string comment "a number", buildTs string comment "a number",
            handleKeyOnly string comment "a boolean",
            data map<string, string>, old map<string, string>,
            tableSchema struct<schema string, table string>, preTableSchema struct<schema string, table string>'
    ) }}

),

read as (

    select
        *,
        json.*,
        json.sql as statement,
        if(json.type = 'DELETE', json.old, json.data) as row_image,
        not coalesce(json.handlekeyonly = 'true', false) as is_whole,
        case
            when value is null or json.type = 'BOOTSTRAP' then 'control'
            when json.type in ('INSERT', 'UPDATE', 'DELETE') then 'row_change'
            when json.type = 'TRUNCATE' then 'truncate'
            when json.type in ('CREATE', 'RENAME', 'CINDEX', 'DINDEX', 'ERASE', 'ALTER', 'QUERY') then {{ ddl_kind() }}
            when json.type = 'WATERMARK' then 'heartbeat'
        end as kind,
        -- A statement and a BOOTSTRAP name their table in its schema.
        coalesce(json.database, json.tableschema.schema, json.pretableschema.schema) as named_database,
        coalesce(json.table, json.tableschema.table, json.pretableschema.table) as named_table,
        {{ source_names('named_database', 'named_table') }}
    from messages

),

checked as (

    select
        *,
        if(value is null, null, coalesce(
            route_problem,
            json_problem,
            case when kind is null then {{ problem('unknown_operation', "'type is ' || coalesce(type, 'missing')") }} end,
            {{ incomplete_change('type') }},
            case
                when kind = 'row_change' and {{ is_empty_image('row_image') }}
                    then {{ problem('missing_image', "type || ' without a row'") }}
            end,
            {{ tso_problem('commitTs', 'committs') }},
            {{ time_problem('buildTs', 'buildts', 'milliseconds') }}
        )) as problem
    from read

),

changes as (

    select
        *,
        0 as row_number,
        lower(type) as operation,
        source_database as database_name,
        source_table as table_name,
        route_key as key_columns,
        if(type = 'INSERT', null, {{ canonical_ticdc_image('old') }}) as before,
        if(type = 'DELETE', null, {{ canonical_ticdc_image('data') }}) as after,
        if(type <> 'INSERT' and old is not null, is_whole, null) as before_is_complete,
        if(type = 'DELETE', null, is_whole) as after_is_complete,
        'tidb' as source_type,
        sql as ddl,
        {{ epoch_to_timestamp(tso_milliseconds('committs'), 'milliseconds') }} as committed_at,
        {{ epoch_to_timestamp('buildts', 'milliseconds') }} as produced_at,
        nullif(committs, '0') as transaction_id,
        {{ ticdc_sequence(
            'committs', "'0'", 'lower(type)', 'is_whole', ticdc_row('row_image', 'route_key'), ['partition', 'offset']
        ) }} as sequence
    from checked

)

{{ result_rows(
    'changes',
    has=['row_number', 'key_columns', 'source_type', 'ddl', 'dropped_tables', 'committed_at', 'produced_at', 'transaction_id']
) }}
