with

-- The members of the envelope that are read. An image is a map: every value stays the text that was sent.
messages as (

    {{ json_messages(
        ref('messages'), 'my_format',
        'op string, db string, tbl string, keys array<string>, old map<string, string>, new map<string, string>, '
        ~ 'pos string, ts string, tx string, sql string',
        statement='sql'
    ) }}

),

read as (

    select
        *,
        json.op,
        json.pos,
        json.ts,
        json.sql as statement,
        case
            when value is null then 'control'
            when json.op in ('insert', 'update', 'delete', 'snapshot') then 'row_change'
            when json.op = 'truncate' then 'truncate'
            when json.op = 'ddl' then {{ ddl_kind() }}
            when json.op = 'heartbeat' then 'heartbeat'
            when json.op = 'begin' then 'transaction_begin'
            when json.op = 'commit' then 'transaction_end'
        end as kind,
        {{ source_names('json.db', 'json.tbl') }}
    from messages

),

changes as (

    select
        *,
        if(value is null, null, coalesce(
            route_problem,
            json_problem,
            case when kind is null then {{ problem('unknown_operation', "'op is ' || coalesce(op, 'missing')") }} end,
            {{ incomplete_change('op') }},
            case
                when kind = 'row_change' and coalesce(size(if(op = 'delete', json.old, json.new)), 0) = 0
                    then {{ problem('missing_image', "op || ' without ' || if(op = 'delete', 'old', 'new')") }}
                when kind in ('row_change', 'schema_change', 'truncate') and op <> 'snapshot' and pos is null
                    then {{ problem('missing_position', "op || ' without pos'") }}
            end,
            {{ position_problem('pos', 'pos') }},
            {{ time_problem('ts', 'ts', 'milliseconds') }}
        )) as problem,
        op as operation,
        source_database as database_name,
        source_table as table_name,
        json.keys as key_columns,
        if(op in ('update', 'delete'), json.old, null) as before,
        if(op <> 'delete', json.new, null) as after,
        -- True only where the vendor vouches that the image has every column of the row.
        if(op in ('update', 'delete'), op = 'delete', null) as before_is_complete,
        if(op <> 'delete', op <> 'update', null) as after_is_complete,
        statement as ddl,
        {{ epoch_to_timestamp('ts', 'milliseconds') }} as committed_at,
        -- pos is unique in the source. Rows of a full load have none: before all changes, as they were delivered.
        if(pos is null, {{ sequence(["'0'", 'partition', 'offset']) }}, {{ sequence(['pos', "'0'", "'0'"]) }}) as sequence,
        json.tx as transaction_id
    from read

)

{{ result_rows('changes', has=['key_columns', 'ddl', 'dropped_tables', 'committed_at', 'transaction_id']) }}
