with

messages as (

    {{ json_messages(ref('messages'), 'oms_maxwell', maxwell_fields(), statement='sql') }}

),

-- A row of the full load is an insert of one moment that no change has.
read as (

    {{ maxwell_read('messages', of_full_load="type = 'insert' and ts = '1600000000'") }}

),

checked as (

    {{ maxwell_checked('read') }}

),

described as (

    {{ maxwell_changes('checked') }}

),

changes as (

    select
        * except (committed_at),
        if(operation = 'snapshot', null, committed_at) as committed_at,
        -- `position` is a second, too. The messages of a key come in the order of its changes; those of the full load come first.
        {{ sequence(["if(operation = 'snapshot', '0', coalesce(ts_ms, '0'))", 'partition', 'offset']) }} as sequence
    from described

)

{{ result_rows(
    'changes',
    has=['row_number', 'key_columns', 'source_type', 'ddl', 'dropped_tables', 'committed_at', 'transaction_id']
) }}
