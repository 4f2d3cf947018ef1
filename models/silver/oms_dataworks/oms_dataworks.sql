{% set fields =
    'schema struct<source: struct<dbType: string, dbName: string, schema: string, table: string>,'
    ~ ' column: array<map<string, string>>, pk: array<string>>,'
    ~ ' payload struct<before: struct<data: map<string, string>>, after: struct<data: map<string, string>>, op: string,'
    ~ ' scn: string comment "a number", ddl: struct<text: string>,'
    ~ ' timestamp: struct<eventTime: string comment "a number", systemTime: string comment "a number">>'
%}

with

messages as (

    select
        *,
        {{ exact_json(fields, statement='payload.ddl.text') }} as exact
    from {{ ref('messages') }}
    where format = 'oms_dataworks'

),

envelopes as (

    select
        *,
        {{ read_json(fields) }} as json
    from messages

),

-- The vendor's examples write an unknown scn as the text null.
read as (

    select
        *,
        exact.problem as json_problem,
        json.payload.op,
        json.schema.source.dbtype as database_type,
        nullif(json.payload.ddl.text, '') as statement,
        exact.stated,
        {{ dataworks_kind(['INSERT', 'UPDATE', 'DELETE']) }} as kind,
        {{ truncated_tables('json.schema.source.table') }} as truncated,
        {{ dropped_tables('json.schema.source.table') }} as dropped,
        {{ database_or_default(without_tenant('json.schema.source.dbname'), 'kind') }} as source_database,
        nullif(json.schema.source.schema, '') as source_schema,
        coalesce(get(truncated, 0).table_name, nullif(json.schema.source.table, '')) as source_table,
        json.schema.pk as key_columns,
        json.schema.column as sent_columns,
        {{ named_types('sent_columns') }} as columns,
        json.payload.before.data as before_image,
        json.payload.after.data as after_image,
        if(json.payload.scn in ('', 'null'), null, json.payload.scn) as scn,
        json.payload.timestamp.eventtime as event_time,
        json.payload.timestamp.systemtime as system_time
    from envelopes

),

checked as (

    select
        *,
        if(value is null, null, {{ dataworks_problem('scn', 'scn') }}) as problem
    from read

),

changes as (

    select
        *,
        if(problem is null, kind, 'rejected') as outcome,
        if(problem is null and kind = 'row_change', lower(op), null) as row_operation,
        if(problem is null, {{ types_of_columns('columns') }}, null) as types
    from checked

)

select
    topic,
    partition,
    offset,
    0 as row_number,
    format,
    outcome as kind,
    row_operation as operation,
    if(outcome = 'rejected', null, source_database) as database_name,
    if(outcome = 'rejected', null, source_schema) as schema_name,
    if(outcome = 'rejected', null, source_table) as table_name,
    if(outcome = 'row_change' and size(key_columns) > 0, key_columns, null) as key_columns,
    if(
        row_operation in ('update', 'delete'),
        {{ canonical_oms_dataworks_image('before_image', 'types', 'time_zone') }},
        null
    ) as before,
    if(
        row_operation in ('insert', 'update'),
        {{ canonical_oms_dataworks_image('after_image', 'types', 'time_zone') }},
        null
    ) as after,
    if(row_operation in ('update', 'delete'), true, null) as before_is_complete,
    if(row_operation in ('insert', 'update'), true, null) as after_is_complete,
    if(outcome = 'row_change', types, null) as column_types,
    if(outcome = 'rejected', null, lower(nullif(database_type, ''))) as source_type,
    if(outcome in ('schema_change', 'truncate'), statement, null) as ddl,
    if(outcome = 'schema_change', dropped, null) as dropped_tables,
    if(outcome = 'rejected', null, {{ epoch_to_timestamp('event_time', 'milliseconds') }}) as committed_at,
    if(outcome = 'rejected', null, {{ epoch_to_timestamp('system_time', 'milliseconds') }}) as produced_at,
    ingested_at,
    -- An scn is seconds (ten digits) and a counter, one of other digits a number. Nothing says that it is one per row, so the
    -- delivery decides within one. What has none, as a statement, stands where its second begins.
    case
        when outcome not in ('row_change', 'schema_change', 'truncate') then null
        when scn rlike r'^[12][0-9]{10,18}\z' then {{ sequence(['left(scn, 10)', 'substr(scn, 11)', 'partition', 'offset']) }}
        when scn is not null then {{ sequence(['scn', "'0'", 'partition', 'offset']) }}
        else {{ sequence(["coalesce(cast(nullif(event_time, '-1') as bigint) div 1000, 0)", "'0'", 'partition', 'offset']) }}
    end as sequence,
    cast(null as string) as transaction_id,
    cast(null as bigint) as transaction_row,
    problem.code as reject_reason,
    problem.detail as reject_detail,
    bronze_version
from changes
