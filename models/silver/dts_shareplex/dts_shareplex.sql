with

messages as (

    select
        *,
        {{ exact_json(shareplex_fields()) }} as exact
    from {{ ref('messages') }}
    where format = 'dts_shareplex'

),

envelopes as (

    select
        *,
        {{ read_json(shareplex_fields()) }} as json
    from messages

),

-- The vendor's table lists INSERT, UPDATE and DELETE, its examples have ins, upd and del.
read as (

    select
        *,
        json.*,
        exact.problem as json_problem,
        json.meta['op'] as op,
        case
            when lower(op) in ('ins', 'insert') then 'insert'
            when lower(op) in ('upd', 'update') then 'update'
            when lower(op) in ('del', 'delete') then 'delete'
            when lower(op) = 'update before' then 'update_before'
            when lower(op) = 'update after' then 'update_after'
        end as row_operation,
        case
            when value is null then 'control'
            when row_operation is not null then 'row_change'
            when lower(op) = 'truncate' then 'truncate'
            when lower(op) = 'drop column' then 'schema_change'
        end as kind,
        json.sql['ddl'] as ddl,
        -- No statement is documented for DROP COLUMN, so it needs none.
        coalesce(ddl, op) as statement,
        nullif(regexp_extract(json.meta['table'], r'^([^.]*)\.', 1), '') as owner,
        if(kind = 'control', null, coalesce(route_database, owner)) as source_database,
        nullif(regexp_replace(json.meta['table'], r'^[^.]*\.', ''), '') as source_table,
        {{ shareplex_meta('time') }} as time,
        {{ shareplex_timestamp('time', 'time_zone') }} as committed_at,
        {{ shareplex_meta('posttime') }} as posttime,
        {{ shareplex_timestamp('posttime', 'time_zone') }} as produced_at,
        {{ shareplex_meta('scn') }} as scn,
        {{ shareplex_meta('seq') }} as seq,
        {{ shareplex_meta('trans') }} as trans
    from envelopes

),

checked as (

    select
        *,
        if(value is null, null, {{ shareplex_problem() }}) as problem
    from read

),

changes as (

    select
        *,
        if(problem is null, kind, 'rejected') as outcome,
        if(outcome = 'row_change', row_operation, null) as operation,
        if(outcome = 'row_change', data, null) as row_data,
        if(outcome = 'row_change', key, null) as row_key
    from checked

)

select
    topic,
    partition,
    offset,
    0 as row_number,
    format,
    outcome as kind,
    operation,
    if(outcome = 'rejected', null, source_database) as database_name,
    if(outcome = 'rejected', null, owner) as schema_name,
    if(outcome = 'rejected', null, source_table) as table_name,
    cast(null as array<string>) as key_columns,
    case
        when operation = 'delete' then row_data
        when operation = 'update_before' then if(size(row_data) > 0, row_data, row_key)
        when operation = 'update' then row_key
    end as before,
    case
        when operation = 'insert' then row_data
        when operation in ('update', 'update_after') then {{ laid_over('row_data', 'coalesce(row_key, map())') }}
    end as after,
    -- Nothing says that an image of an update is the whole row; the vendor's example is not.
    if(operation in ('update', 'update_before', 'delete'), operation = 'delete', null) as before_is_complete,
    if(operation in ('insert', 'update', 'update_after'), operation = 'insert', null) as after_is_complete,
    cast(null as map<string, string>) as column_types,
    cast(null as string) as source_type,
    if(outcome in ('schema_change', 'truncate'), ddl, null) as ddl,
    cast(null as array<struct<database_name: string, schema_name: string, table_name: string>>) as dropped_tables,
    if(outcome = 'rejected', null, committed_at) as committed_at,
    if(outcome = 'rejected', null, produced_at) as produced_at,
    ingested_at,
    -- scn is the transaction's, so only its change's number makes it a place of its own; else the delivery does.
    case
        when outcome not in ('row_change', 'schema_change', 'truncate') then null
        when scn is not null and seq is not null then {{ sequence(['scn', 'seq', "'0'", "'0'"]) }}
        when scn is not null then {{ sequence(['scn', "'0'", 'partition', 'offset']) }}
        else {{ sequence(["coalesce(greatest(unix_seconds(committed_at), 0), 0)", "'0'", 'partition', 'offset']) }}
    end as sequence,
    if(outcome = 'rejected', null, trans) as transaction_id,
    if(outcome = 'rejected', null, cast(seq as bigint)) as transaction_row,
    problem.code as reject_reason,
    problem.detail as reject_detail,
    bronze_version
from changes
