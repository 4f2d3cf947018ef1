{% set fields =
    'schema struct<source: struct<dbType: string, dbName: string, schemaName: string, tableName: string>,'
    ~ ' dataColumn: array<map<string, string>>, primaryKey: array<string>>,'
    ~ ' payload struct<before: struct<dataColumn: map<string, string>>, after: struct<dataColumn: map<string, string>>,'
    ~ ' op: string, sequenceId: string comment "a number", ddl: struct<text: string>,'
    ~ ' timestamp: struct<eventTime: string comment "a number", systemTime: string comment "a number">>'
%}

with

messages as (

    select
        *,
        {{ exact_json(fields, statement='payload.ddl.text') }} as exact
    from {{ ref('messages') }}
    where format = 'dataworks_kafka'

),

envelopes as (

    select
        *,
        {{ read_json(fields) }} as json
    from messages

),

-- A row of the full load is an INSERT whose sequenceId is -1.
read as (

    select
        *,
        exact.problem as json_problem,
        json.payload.op,
        json.schema.source.dbtype as database_type,
        nullif(json.payload.ddl.text, '') as statement,
        exact.stated,
        {{ dataworks_kind(['INSERT', 'UPDATE_BEFOR', 'UPDATE_BEFORE', 'UPDATE_AFTER', 'DELETE']) }} as kind,
        {{ truncated_tables('json.schema.source.tablename', source_type='json.schema.source.dbtype') }}
            as truncated,
        {{ dropped_tables('json.schema.source.tablename', source_type='json.schema.source.dbtype') }} as dropped,
        {{ database_or_default('json.schema.source.dbname', 'kind') }} as source_database,
        nullif(json.schema.source.schemaname, '') as source_schema,
        coalesce(get(truncated, 0).table_name, nullif(json.schema.source.tablename, '')) as source_table,
        json.schema.primarykey as key_columns,
        json.schema.datacolumn as sent_columns,
        {{ named_types('sent_columns') }} as columns,
        json.payload.before.datacolumn as before_image,
        json.payload.after.datacolumn as after_image,
        if(json.payload.sequenceid in ('', '-1'), null, json.payload.sequenceid) as sequence_id,
        case op
            when 'INSERT' then if(json.payload.sequenceid = '-1', 'snapshot', 'insert')
            when 'UPDATE_AFTER' then if(size(before_image) > 0, 'update', 'update_after')
            when 'DELETE' then 'delete'
            else 'update_before'
        end as operation,
        json.payload.timestamp.eventtime as event_time,
        json.payload.timestamp.systemtime as system_time
    from envelopes

),

checked as (

    select
        *,
        if(value is null, null, {{ dataworks_problem('sequenceId', 'sequence_id') }}) as problem
    from read

),

canonical as (

    select
        *,
        if(problem is null, kind, 'rejected') as outcome,
        if(problem is null and kind = 'row_change', operation, null) as row_operation,
        explode(sequence(0, {{ rows_of_truncate() }} - 1)) as row_number,
        if(problem is null, {{ types_of_columns('columns') }}, null) as types,
        if(
            row_operation in ('update', 'update_before', 'delete'),
            {{ canonical_dataworks_image('before_image', 'types', 'time_zone') }},
            null
        ) as old_row,
        if(
            row_operation in ('snapshot', 'insert', 'update', 'update_after'),
            {{ canonical_dataworks_image('after_image', 'types', 'time_zone') }},
            null
        ) as new_row
    from checked

),

changes as (

    select
        *,
        {{ has_all_columns('old_row', 'types') }} as old_looks_whole,
        if(row_operation = 'update', {{ laid_over_whole('new_row', 'old_row', 'old_looks_whole') }}, new_row) as whole_row
    from canonical

)

select
    topic,
    partition,
    offset,
    row_number,
    format,
    outcome as kind,
    row_operation as operation,
    if(outcome = 'rejected', null, source_database) as database_name,
    if(outcome = 'rejected', null, coalesce(get(truncated, row_number).schema_name, source_schema)) as schema_name,
    if(outcome = 'rejected', null, coalesce(get(truncated, row_number).table_name, source_table)) as table_name,
    if(outcome = 'row_change' and size(key_columns) > 0, key_columns, null) as key_columns,
    old_row as before,
    whole_row as after,
    if(old_row is null, null, false) as before_is_complete,
    if(
        whole_row is null, null, row_operation in ('snapshot', 'insert') and {{ has_all_columns('whole_row', 'types') }}
    ) as after_is_complete,
    if(outcome = 'row_change', types, null) as column_types,
    if(outcome = 'rejected', null, lower(nullif(database_type, ''))) as source_type,
    if(outcome in ('schema_change', 'truncate'), statement, null) as ddl,
    if(outcome = 'schema_change', dropped, null) as dropped_tables,
    if(outcome = 'rejected', null, {{ epoch_to_timestamp('event_time', 'milliseconds') }}) as committed_at,
    if(outcome = 'rejected', null, {{ epoch_to_timestamp('system_time', 'milliseconds') }}) as produced_at,
    ingested_at,
    -- The halves of an update share their sequenceId, milliseconds and a counter of six digits. What has none stands where
    -- the millisecond of its commit begins; a row of the full load, which has neither, comes first.
    case
        when outcome not in ('row_change', 'schema_change', 'truncate') then null
        when sequence_id is not null then {{ sequence(['sequence_id', "'0'", "'0'", "'0'"]) }}
        else {{ sequence([
            "coalesce(if(row_operation = 'snapshot' or event_time = '-1', null, event_time) || '000000', '0')", "'0'", 'partition', 'offset'
        ]) }}
    end as sequence,
    cast(null as string) as transaction_id,
    cast(null as bigint) as transaction_row,
    problem.code as reject_reason,
    problem.detail as reject_detail,
    bronze_version
from changes
