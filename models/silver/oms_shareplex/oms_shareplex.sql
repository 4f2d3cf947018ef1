with

messages as (

    {{ json_messages(
        ref('messages'), 'oms_shareplex',
        'meta map<string, string>, data map<string, string>, key map<string, string>, sql map<string, string>',
        statement='sql.ddl'
    ) }}

),

envelopes as (

    {{ shareplex_read('messages') }}

),

read as (

    select
        *,
        if(lower(op) = 'ddl', sql['ddl'], null) as statement,
        case lower(op) when 'ins' then 'insert' when 'upd' then 'update' when 'del' then 'delete' end as row_operation,
        case
            when value is null then 'control'
            when row_operation is not null then 'row_change'
            when lower(op) = 'ddl' then {{ ddl_kind() }}
        end as kind,
        -- OceanBase names `tenant.database`; the tenant is not part of the database's name.
        regexp_extract(meta['table'], r'^(?:[^.]*\.(?=[^.]*\.))?([^.]*)\.', 1) as named_database,
        regexp_replace(meta['table'], r'^(?:[^.]*\.){1,2}', '') as named_table,
        {{ source_names('named_database', 'named_table') }}
    from envelopes

),

checked as (

    {{ shareplex_checked('read') }}

),

changes as (

    select
        *,
        row_operation as operation,
        source_database as database_name,
        source_table as table_name,
        route_key as key_columns,
        -- `key` is the whole row before an update, `data` the columns that it changed.
        case row_operation when 'update' then key when 'delete' then data end as before,
        case row_operation when 'insert' then data when 'update' then {{ laid_over('data', 'coalesce(key, map())') }} end as after,
        if(row_operation in ('update', 'delete'), true, null) as before_is_complete,
        if(row_operation in ('insert', 'update'), true, null) as after_is_complete,
        statement as ddl,
        -- scn is seconds (ten digits) and a counter whose padding is not documented: two numbers, not one.
        -- Without it (DDL, full load, or switched off) the commit time and the delivery decide.
        if(
            scn is not null,
            {{ sequence(['left(scn, 10)', "coalesce(nullif(substr(scn, 11), ''), '0')", "coalesce(seq, '0')", "'0'", "'0'"]) }},
            {{ sequence(["coalesce(greatest(unix_seconds(committed_at), 0), 0)", "'0'", "'0'", 'partition', 'offset']) }}
        ) as sequence
    from checked

)

{{ result_rows(
    'changes',
    has=['key_columns', 'ddl', 'dropped_tables', 'committed_at', 'produced_at', 'transaction_id', 'transaction_row']
) }}
