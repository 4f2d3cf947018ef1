with

messages as (

    {{ json_messages(ref('messages'), 'maxwell', maxwell_fields(), statement='sql') }}

),

read as (

    {{ maxwell_read('messages') }}

),

placed as (

    select
        *,
        regexp_extract(position, r'([0-9]{1,20}):[0-9]{1,20}\z', 1) as log_file,
        regexp_extract(position, r':([0-9]{1,20})\z', 1) as log_offset
    from read

),

checked as (

    {{ maxwell_checked('placed', place="
        case when log_file = '' then " ~ problem('wrong_type', "'position is ' || position || ', which is no file:offset'") ~ " end"
    ) }}

),

described as (

    {{ maxwell_changes('checked') }}

),

changes as (

    select
        *,
        -- Rows of one event share its position: without `xoffset` the delivery decides among them, and all where there is no position.
        -- The last row of a transaction has `commit` in place of `xoffset`: in its event it comes behind all others.
        case
            when kind <> 'row_change' or position is null then {{ sequence(["'0'", "'0'", "'0'", 'partition', 'offset']) }}
            when commit = 'true' then {{ sequence(['log_file', 'log_offset', "repeat('9', 20)", "'0'", "'0'"]) }}
            when xoffset is not null then {{ sequence(['log_file', 'log_offset', 'xoffset', "'0'", "'0'"]) }}
            else {{ sequence(['log_file', 'log_offset', "'0'", 'partition', 'offset']) }}
        end as sequence
    from described

)

{{ result_rows(
    'changes',
    has=['row_number', 'key_columns', 'source_type', 'ddl', 'dropped_tables', 'committed_at', 'transaction_id', 'transaction_row']
) }}
