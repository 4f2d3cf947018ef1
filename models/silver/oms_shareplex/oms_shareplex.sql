with

messages as (

    select
        *,
        {{ exact_json(shareplex_fields(), statement='sql.ddl') }} as exact
    from {{ ref('messages') }}
    where format = 'oms_shareplex'

),

envelopes as (

    select
        *,
        {{ read_json(shareplex_fields()) }} as json
    from messages

),

read as (

    select
        *,
        json.*,
        exact.problem as json_problem,
        json.meta['op'] as op,
        if(lower(op) = 'ddl', json.sql['ddl'], null) as statement,
        exact.stated,
        case lower(op) when 'ins' then 'insert' when 'upd' then 'update' when 'del' then 'delete' end as row_operation,
        case
            when value is null then 'control'
            when row_operation is not null then 'row_change'
            when lower(op) = 'ddl' then {{ ddl_kind() }}
        end as kind,
        -- OceanBase names `tenant.database`; the tenant is not part of the database's name.
        regexp_extract(json.meta['table'], r'^(?:[^.]*\.(?=[^.]*\.))?([^.]*)\.', 1) as named_database,
        nullif(regexp_replace(json.meta['table'], r'^(?:[^.]*\.){1,2}', ''), '') as named_table,
        {{ truncated_tables('named_table') }} as truncated,
        {{ dropped_tables('named_table') }} as dropped,
        {{ database_or_default('named_database', 'kind') }} as source_database,
        coalesce(get(truncated, 0).table_name, named_table) as source_table,
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
    cast(null as string) as schema_name,
    if(outcome = 'rejected', null, source_table) as table_name,
    cast(null as array<string>) as key_columns,
    case operation when 'update' then row_key when 'delete' then row_data end as before,
    -- `key` is the whole row before an update, `data` the columns that it changed.
    case operation when 'insert' then row_data when 'update' then {{ laid_over('row_data', 'coalesce(row_key, map())') }} end as after,
    if(operation in ('update', 'delete'), true, null) as before_is_complete,
    if(operation in ('insert', 'update'), true, null) as after_is_complete,
    cast(null as map<string, string>) as column_types,
    cast(null as string) as source_type,
    if(outcome in ('schema_change', 'truncate'), statement, null) as ddl,
    if(outcome = 'schema_change', dropped, null) as dropped_tables,
    if(outcome = 'rejected', null, committed_at) as committed_at,
    if(outcome = 'rejected', null, produced_at) as produced_at,
    ingested_at,
    -- scn is seconds (ten digits) and a counter whose padding is not documented: two numbers, not one.
    -- Without it (DDL, full load, or switched off) the commit time and the delivery decide.
    case
        when outcome not in ('row_change', 'schema_change', 'truncate') then null
        when scn is not null
            then {{ sequence(['left(scn, 10)', "coalesce(nullif(substr(scn, 11), ''), '0')", "coalesce(seq, '0')", "'0'", "'0'"]) }}
        else {{ sequence(["coalesce(greatest(unix_seconds(committed_at), 0), 0)", "'0'", "'0'", 'partition', 'offset']) }}
    end as sequence,
    if(outcome = 'rejected', null, trans) as transaction_id,
    if(outcome = 'rejected', null, cast(seq as bigint)) as transaction_row,
    problem.code as reject_reason,
    problem.detail as reject_detail,
    bronze_version
from changes
