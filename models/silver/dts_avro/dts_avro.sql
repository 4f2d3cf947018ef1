with

messages as (

    select * from {{ ref('messages') }}
    where format = 'dts_avro'

),

records as (

    select
        *,
        decode_dts_avro(value, avro_schema) as record
    from messages

),

read as (

    select
        *,
        record.*,
        case
            when value is null then 'control'
            when record.operation in ('INSERT', 'UPDATE', 'DELETE', 'INIT') then 'row_change'
            when record.operation in ('DDL', 'COMMAND') then {{ ddl_kind('record.ddl') }}
            when record.operation = 'HEARTBEAT' then 'heartbeat'
            when record.operation = 'BEGIN' then 'transaction_begin'
            when record.operation in ('COMMIT', 'ROLLBACK', 'ABORT') then 'transaction_end'
            when record.operation is not null then 'control'
        end as kind,
        {{ database_or_default('record.database_name', 'kind') }} as source_database,
        coalesce(nullif(record.table_name, ''), {{ truncated_table('record.ddl') }}) as source_table,
        -- MySQL: offset@file, which sorts wrongly as text. Other sources have no position that is known to be a number.
        regexp_extract(record.source_position, '^([0-9]{1,20})@([0-9]{1,20})$', 2) as log_file,
        regexp_extract(record.source_position, '^([0-9]{1,20})@([0-9]{1,20})$', 1) as log_offset
    from records

),

checked as (

    select
        *,
        case
            when value is null then null
            when route_problem is not null then route_problem
            when error_code is not null then struct(error_code as code, error_detail as detail)
            when kind in ('row_change', 'truncate') and source_table is null
                then {{ problem('missing_table', "operation || ' without a table in objectName'") }}
            when kind in ('row_change', 'truncate') and source_database is null
                then {{ problem('missing_database', "operation || ' without a database: name it in seeds/topics.csv'") }}
            when operation in ('INSERT', 'INIT') and coalesce(size(after), 0) = 0
                then {{ problem('missing_image', "operation || ' without afterImages'") }}
            when operation = 'DELETE' and coalesce(size(before), 0) = 0
                then {{ problem('missing_image', "'DELETE without beforeImages'") }}
            when operation = 'UPDATE' and coalesce(size(after), 0) = 0
                then {{ problem('missing_image', "'UPDATE without afterImages'") }}
            when kind in ('schema_change', 'truncate') and ddl is null
                then {{ problem('missing_ddl', "operation || ' without a statement in afterImages'") }}
            when id < 0
                then {{ problem('wrong_type', "'id is ' || id") }}
            when not {{ is_epoch('cast(source_timestamp as string)', 'seconds') }}
                then {{ problem('wrong_type', "'sourceTimestamp is ' || source_timestamp") }}
        end as problem
    from read

),

changes as (

    select
        *,
        if(problem is null, kind, 'rejected') as outcome,
        if(problem is null and kind = 'row_change', operation, null) as row_operation
    from checked

)

select
    topic,
    partition,
    offset,
    0 as row_number,
    format,
    outcome as kind,
    if(row_operation = 'INIT', 'snapshot', lower(row_operation)) as operation,
    if(outcome = 'rejected', null, source_database) as database_name,
    if(outcome = 'rejected', null, schema_name) as schema_name,
    if(outcome = 'rejected', null, source_table) as table_name,
    if(outcome = 'row_change', key_columns, null) as key_columns,
    if(row_operation in ('UPDATE', 'DELETE'), before, null) as before,
    if(row_operation <> 'DELETE', after, null) as after,
    if(row_operation in ('UPDATE', 'DELETE'), before_is_complete, null) as before_is_complete,
    if(row_operation <> 'DELETE', after_is_complete, null) as after_is_complete,
    if(outcome = 'row_change', column_types, null) as column_types,
    if(outcome in ('schema_change', 'truncate'), ddl, null) as ddl,
    if(outcome = 'rejected', null, {{ epoch_to_timestamp('cast(source_timestamp as string)', 'seconds') }}) as committed_at,
    -- bornTimestamp is documented in milliseconds, but a real capture has seconds in it: its size tells.
    case
        when outcome = 'rejected' then null
        when born_timestamp < 100000000000 then {{ epoch_to_timestamp('cast(born_timestamp as string)', 'seconds') }}
        else {{ epoch_to_timestamp('cast(born_timestamp as string)', 'milliseconds') }}
    end as produced_at,
    ingested_at,
    -- The rows of one binlog event share its position; id counts them on. A full load has no position and comes first.
    case
        when outcome not in ('row_change', 'schema_change', 'truncate') then null
        when log_file <> '' then {{ sequence(['log_file', 'log_offset', 'id']) }}
        when row_operation = 'INIT' then {{ sequence(["'0'", "'0'", 'id']) }}
        else {{ sequence(['greatest(source_timestamp, 0)', 'partition', 'offset']) }}
    end as sequence,
    if(outcome = 'rejected', null, transaction_id) as transaction_id,
    cast(null as bigint) as transaction_row,
    problem.code as reject_reason,
    problem.detail as reject_detail,
    bronze_version
from changes
