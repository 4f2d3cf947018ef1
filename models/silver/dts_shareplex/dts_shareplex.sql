with

messages as (

    {{ json_messages(
        ref('messages'), 'dts_shareplex',
        'meta map<string, string>, data map<string, string>, key map<string, string>, sql map<string, string>'
    ) }}

),

envelopes as (

    {{ shareplex_read('messages') }}

),

-- The vendor's table lists INSERT, UPDATE and DELETE, its examples have ins, upd and del.
read as (

    select
        *,
        case
            when lower(op) in ('ins', 'insert') then 'insert'
            when lower(op) in ('upd', 'update') then 'update'
            when lower(op) in ('del', 'delete') then 'delete'
            when lower(op) in ('update before', 'update after') then replace(lower(op), ' ', '_')
        end as row_operation,
        case
            when value is null then 'control'
            when row_operation is not null then 'row_change'
            when lower(op) = 'truncate' then 'truncate'
            when lower(op) = 'drop column' then 'schema_change'
        end as kind,
        sql['ddl'] as ddl,
        -- No statement is documented for DROP COLUMN, so it needs none.
        coalesce(ddl, op) as statement,
        nullif(regexp_extract(meta['table'], r'^([^.]*)\.', 1), '') as owner,
        if(kind = 'control', null, coalesce(route_database, owner)) as source_database,
        nullif(regexp_replace(meta['table'], r'^[^.]*\.', ''), '') as source_table
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
        owner as schema_name,
        source_table as table_name,
        route_key as key_columns,
        case
            when row_operation = 'delete' then data
            when row_operation = 'update_before' then if(size(data) > 0, data, key)
            when row_operation = 'update' then key
        end as before,
        case
            when row_operation = 'insert' then data
            when row_operation in ('update', 'update_after') then {{ laid_over('data', 'coalesce(key, map())') }}
        end as after,
        -- Nothing says that an image of an update is the whole row; the vendor's example is not.
        if(row_operation in ('update', 'update_before', 'delete'), row_operation = 'delete', null) as before_is_complete,
        if(row_operation in ('insert', 'update', 'update_after'), row_operation = 'insert', null) as after_is_complete,
        -- scn is the transaction's, so only its change's number makes it a place of its own; else the delivery does.
        case
            when scn is not null and seq is not null then {{ sequence(['scn', 'seq', "'0'", "'0'"]) }}
            when scn is not null then {{ sequence(['scn', "'0'", 'partition', 'offset']) }}
            else {{ sequence(["coalesce(greatest(unix_seconds(committed_at), 0), 0)", "'0'", 'partition', 'offset']) }}
        end as sequence
    from checked

)

{{ result_rows(
    'changes',
    has=['schema_name', 'key_columns', 'ddl', 'committed_at', 'produced_at', 'transaction_id', 'transaction_row']
) }}
