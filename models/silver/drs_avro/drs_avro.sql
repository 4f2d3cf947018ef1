with

messages as (

    select * from {{ ref('messages') }}
    where format = 'drs_avro'

),

-- The schema is the user's; its records have the shape of DTS or that of OceanBase.
records as (

    select
        *,
        decode_drs_avro(value, avro_schema) as record
    from messages

),

read as (

    select
        *,
        record.*,
        record.ddl as statement,
        {{ avro_kind() }} as kind,
        {{ truncated_tables('record.table_name', source_type='record.source_type') }} as truncated,
        {{ dropped_tables('record.table_name', source_type='record.source_type') }} as dropped,
        {{ database_or_default(
            "if(record.shape = 'oceanbase', " ~ without_tenant('record.database_name') ~ ", record.database_name)", 'kind'
        ) }} as source_database,
        coalesce(get(truncated, 0).table_name, nullif(record.table_name, '')) as source_table
    from records

),

checked as (

    select
        *,
        if(value is null, null, {{ avro_problem('timestamp') }}) as problem
    from read

),

changes as (

    select
        *,
        if(problem is null, kind, 'rejected') as outcome,
        if(problem is null and kind = 'row_change', operation, null) as row_operation,
        explode(sequence(0, {{ rows_of_truncate() }} - 1)) as row_number
    from checked

)

select
    topic,
    partition,
    offset,
    row_number,
    format,
    outcome as kind,
    case row_operation when 'INIT' then 'snapshot' else lower(row_operation) end as operation,
    if(outcome = 'rejected', null, source_database) as database_name,
    if(outcome = 'rejected', null, coalesce(get(truncated, row_number).schema_name, schema_name)) as schema_name,
    if(outcome = 'rejected', null, coalesce(get(truncated, row_number).table_name, source_table)) as table_name,
    if(outcome = 'row_change', key_columns, null) as key_columns,
    if(row_operation in ('UPDATE', 'DELETE'), before, null) as before,
    if(row_operation <> 'DELETE', after, null) as after,
    if(row_operation in ('UPDATE', 'DELETE'), before_is_complete, null) as before_is_complete,
    if(row_operation <> 'DELETE', after_is_complete, null) as after_is_complete,
    if(outcome = 'row_change', column_types, null) as column_types,
    if(outcome = 'rejected', null, lower(nullif(source_type, ''))) as source_type,
    if(outcome in ('schema_change', 'truncate'), ddl, null) as ddl,
    if(outcome = 'schema_change', dropped, null) as dropped_tables,
    if(outcome = 'rejected', null, {{ epoch_to_timestamp('cast(source_timestamp as string)', 'seconds') }}) as committed_at,
    if(outcome = 'rejected', null, {{ born_at() }}) as produced_at,
    ingested_at,
    case
        when outcome not in ('row_change', 'schema_change', 'truncate') then null
        when shape = 'oceanbase' then {{ sequence(['id', "'0'", "'0'"]) }}
        else {{ dts_sequence() }}
    end as sequence,
    if(outcome = 'rejected', null, transaction_id) as transaction_id,
    cast(null as bigint) as transaction_row,
    problem.code as reject_reason,
    problem.detail as reject_detail,
    bronze_version
from changes
