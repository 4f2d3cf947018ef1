with

messages as (

    {{ json_messages(
        ref('messages'), 'dataworks_kafka', statement='payload.ddl.text', fields='
        schema struct<source: struct<dbType: string, dbName: string, schemaName: string, tableName: string>,
        dataColumn: array<map<string, string>>, primaryKey: array<string>>,
        payload struct<before: struct<dataColumn: map<string, string>>, after: struct<dataColumn: map<string, string>>,
        op: string, sequenceId: string comment "a number", ddl: struct<text: string>,
        timestamp: struct<eventTime: string comment "a number", systemTime: string comment "a number">>'
    ) }}

),

-- A row of the full load is an INSERT whose sequenceId is -1.
read as (

    select
        *,
        json.payload.op,
        case op
            when 'INSERT' then if(json.payload.sequenceid = '-1', 'snapshot', 'insert')
            when 'UPDATE_AFTER' then if(size(json.payload.before.datacolumn) > 0, 'update', 'update_after')
            when 'DELETE' then 'delete'
            else if(op like 'UPDATE%', 'update_before', null)
        end as operation,
        json.payload.ddl.text as statement,
        {{ dataworks_kind('json.payload', ['INSERT', 'UPDATE_BEFOR', 'UPDATE_BEFORE', 'UPDATE_AFTER', 'DELETE']) }} as kind,
        {{ source_names('json.schema.source.dbname', 'json.schema.source.tablename', source_type='json.schema.source.dbtype') }},
        json.schema.source.schemaname as source_schema,
        json.schema.datacolumn as sent_columns,
        json.payload.before.datacolumn as before_image,
        json.payload.after.datacolumn as after_image,
        if(json.payload.sequenceid in ('', '-1'), null, json.payload.sequenceid) as sequence_id,
        json.payload.timestamp.eventtime as event_time,
        json.payload.timestamp.systemtime as system_time
    from messages

),

rows as (

    {{ dataworks_rows('read', field='sequenceId', position='sequence_id') }}

),

canonical as (

    select
        *,
        case
            when operation in ('update', 'update_before', 'delete')
                then {{ canonical_dataworks_image('before_image', 'column_types', 'time_zone') }}
        end as before,
        case
            when operation in ('snapshot', 'insert', 'update', 'update_after')
                then {{ canonical_dataworks_image('after_image', 'column_types', 'time_zone') }}
        end as sent_after,
        {{ has_all_columns('before', 'column_types') }} as before_looks_whole
    from rows

),

changes as (

    select
        *,
        json.schema.primarykey as key_columns,
        lower(json.schema.source.dbtype) as source_type,
        if(operation = 'update', {{ laid_over('sent_after', 'if(before_looks_whole, before, map())') }}, sent_after) as after,
        if(before is null, null, false) as before_is_complete,
        {{ has_all_columns('after', 'column_types') }} as after_looks_whole,
        if(after is null, null, operation in ('snapshot', 'insert') and after_looks_whole) as after_is_complete,
        -- The messages of a before/after pair share their sequenceId, milliseconds and a counter of six digits. What has none stands where
        -- the millisecond of its commit begins; a row of the full load, which has neither, comes first.
        case
            when sequence_id is not null then {{ sequence(['sequence_id', "'0'", "'0'", "'0'"]) }}
            when operation = 'snapshot' or event_time = '-1' then {{ sequence(["'0'", "'0'", 'partition', 'offset']) }}
            else {{ sequence(["coalesce(event_time || '000000', '0')", "'0'", 'partition', 'offset']) }}
        end as sequence
    from canonical

)

{{ result_rows(
    'changes',
    has=['row_number', 'schema_name', 'key_columns', 'column_types', 'source_type', 'ddl', 'dropped_tables', 'committed_at', 'produced_at']
) }}
