with

messages as (

    {{ json_messages(
        ref('messages'), 'oms_dataworks', statement='payload.ddl.text', fields='
        schema struct<source: struct<dbType: string, dbName: string, schema: string, table: string>,
        column: array<map<string, string>>, pk: array<string>>,
        payload struct<before: struct<data: map<string, string>>, after: struct<data: map<string, string>>, op: string,
        scn: string comment "a number", ddl: struct<text: string>,
        timestamp: struct<eventTime: string comment "a number", systemTime: string comment "a number">>'
    ) }}

),

-- The vendor's examples write an unknown scn as the text null.
read as (

    select
        *,
        json.payload.op,
        json.payload.ddl.text as statement,
        {{ dataworks_kind('json.payload', ['INSERT', 'UPDATE', 'DELETE']) }} as kind,
        {{ source_names(without_tenant('json.schema.source.dbname'), 'json.schema.source.table') }},
        json.schema.source.schema as source_schema,
        json.schema.column as sent_columns,
        json.payload.before.data as before_image,
        json.payload.after.data as after_image,
        if(json.payload.scn in ('', 'null'), null, json.payload.scn) as scn,
        json.payload.timestamp.eventtime as event_time,
        json.payload.timestamp.systemtime as system_time
    from messages

),

rows as (

    {{ dataworks_rows('read', field='scn', position='scn') }}

),

changes as (

    select
        *,
        lower(op) as operation,
        json.schema.pk as key_columns,
        if(op in ('UPDATE', 'DELETE'), {{ canonical_oms_dataworks_image('before_image', 'column_types', 'time_zone') }}, null) as before,
        if(op in ('INSERT', 'UPDATE'), {{ canonical_oms_dataworks_image('after_image', 'column_types', 'time_zone') }}, null) as after,
        if(op in ('UPDATE', 'DELETE'), true, null) as before_is_complete,
        if(op in ('INSERT', 'UPDATE'), true, null) as after_is_complete,
        lower(json.schema.source.dbtype) as source_type,
        -- An scn is seconds (ten digits) and a counter, one of other digits a number. Nothing says that it is one per row, so
        -- the delivery decides within one. What has none, as a statement, stands where its second begins.
        case
            when scn rlike r'^[12][0-9]{10,18}\z' then {{ sequence(['left(scn, 10)', 'substr(scn, 11)', 'partition', 'offset']) }}
            when scn is not null then {{ sequence(['scn', "'0'", 'partition', 'offset']) }}
            else {{ sequence(["coalesce(try_cast(nullif(event_time, '-1') as bigint) div 1000, 0)", "'0'", 'partition', 'offset']) }}
        end as sequence
    from rows

)

{{ result_rows(
    'changes',
    has=['row_number', 'schema_name', 'key_columns', 'column_types', 'source_type', 'ddl', 'dropped_tables', 'committed_at', 'produced_at']
) }}
