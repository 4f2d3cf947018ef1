with

messages as (

    {{ json_messages(
        ref('messages'), 'datastream_json', fields='
        read_method string, source_timestamp string, read_timestamp string, sort_keys array<string>, payload map<string, string>,
        source_metadata struct<database: string, schema: string, table: string, change_type: string, is_deleted: string,
        primary_keys: array<string>, replication_index: array<string>, tx_id: string,
        log_file: string, log_position: string comment "a number",
        scn: string comment "a number", rs_id: string, ssn: string comment "a number", lsn: string>'
    ) }}

),

opened as (

    select
        *,
        json.*,
        json.source_metadata.*
    from messages

),

read as (

    select
        *,
        -- The two may stand in sort_keys alone, which are [time, scn, rs_id, ssn] for Oracle.
        nullif(trim(coalesce(rs_id, if(scn is null, null, get(sort_keys, 2)))), '') as redo_address,
        coalesce(ssn, if(scn is null, null, get(sort_keys, 3)), '0') as redo_number,
        case
            when read_method like 'postgres%' then 'postgresql'
            else nullif(regexp_extract(read_method, '^([a-z0-9]+)[-_]', 1), '')
        end as source_type,
        case
            when read_method is null then null
            when read_method like '%backfill%' then if(coalesce(change_type, '') in ('', 'INSERT'), 'snapshot', null)
            when change_type = 'INSERT' then 'insert'
            when change_type in ('UPDATE', 'UPDATE-INSERT') then 'update'
            when change_type in ('DELETE', 'UPDATE-DELETE') then 'delete'
        end as operation,
        case when value is null then 'control' when operation is not null then 'row_change' end as kind,
        coalesce(nullif(source_metadata.database, ''), route_database) as source_database,
        coalesce(nullif(source_metadata.table, ''), route_table) as source_table,
        -- Texts are in UTC, whether they say so or not; a number counts milliseconds.
        transform(
            array(source_timestamp, read_timestamp),
            text -> coalesce({{ iso_to_timestamp('text') }}, {{ epoch_to_timestamp('text', 'milliseconds') }})
        ) as times
    from opened

),

-- The place in the source's log, the most significant number first; a backfill comes before all changes. What names no place
-- stands where its time does, except for databases whose changes always name one.
placed as (

    select
        *,
        transform(
            split(if(scn is null, lsn, coalesce(substring(redo_address, 3), '0.0.0')), '[./:]'),
            hexadecimal -> conv(right(hexadecimal, 16), 16, 10)
        ) as numbers,
        case
            when operation = 'snapshot' then array('0')
            when concat_ws(' ', scn, redo_number, redo_address) rlike r'(?i)^\d{1,20} \d{1,20}( 0x[0-9a-f]{1,16}(\.[0-9a-f]{1,16}){2})?\z'
                then array(scn) || numbers || array(redo_number)
            when scn is not null then null
            when lsn <> '' then if(lsn rlike r'(?i)^[0-9a-f]{1,8}(/[0-9a-f]{1,8}|(:[0-9a-f]{1,8}){2})\z', numbers, null)
            when log_file <> ''
                then split(nullif(regexp_extract(log_file || ':' || log_position, r'\.([0-9]{1,20}:[0-9]{1,20})\z', 1), ''), ':')
            when coalesce(source_type, '') not in ('oracle', 'postgresql', 'sqlserver') and unix_millis(get(times, 0)) > 0
                then array(cast(unix_millis(get(times, 0)) as string))
        end as place
    from read

),

checked as (

    select
        *,
        if(value is null, null, coalesce(
            route_problem,
            json_problem,
            case
                when kind is null or (is_deleted = 'true' and operation <> 'delete')
                    then {{ problem('unknown_operation', "'no operation: ' || to_json(struct(read_method, change_type, is_deleted))") }}
            end,
            {{ incomplete_change('operation', statement='null') }},
            case when coalesce(size(payload), 0) = 0 then {{ problem('missing_image', "operation || ' without a payload'") }} end,
            case
                when place is null
                    then {{ problem('wrong_type', "'no place: ' || to_json(struct(log_file, log_position, scn, rs_id, ssn, lsn))") }}
                when
                    (get(times, 0) is null and source_timestamp not in ('', '0', '-1'))
                    or (get(times, 1) is null and read_timestamp not in ('', '0', '-1'))
                    then {{ problem('wrong_type', "'no time: ' || to_json(struct(source_timestamp, read_timestamp))") }}
            end
        )) as problem
    from placed

),

changes as (

    select
        *,
        0 as row_number,
        source_database as database_name,
        coalesce(nullif(source_metadata.schema, ''), route_schema) as schema_name,
        source_table as table_name,
        -- SQL Server's events name their key in replication_index.
        coalesce(route_key, nullif(primary_keys, array()), nullif(replication_index, array())) as key_columns,
        if(operation = 'delete', payload, null) as before,
        if(operation = 'delete', null, payload) as after,
        -- PostgreSQL's log has no more of a deleted row than its replica identity.
        if(operation = 'delete', coalesce(source_type <> 'postgresql', false), null) as before_is_complete,
        if(operation = 'delete', null, true) as after_is_complete,
        if(operation = 'snapshot', null, get(times, 0)) as committed_at,
        get(times, 1) as produced_at,
        -- Rows of one statement may share a place: of those that change keys, all leave their keys before any comes to one.
        if((log_position is not null or redo_address is not null) and change_type = 'UPDATE-INSERT', '1', '0') as row_of_pair,
        {{ sequence([
            'get(place, 0)', "coalesce(get(place, 1), '0')", "coalesce(get(place, 2), '0')", "coalesce(get(place, 3), '0')",
            "coalesce(get(place, 4), '0')", 'row_of_pair', 'partition', 'offset'
        ]) }} as sequence,
        tx_id as transaction_id
    from checked

)

{{ result_rows(
    'changes',
    has=['row_number', 'schema_name', 'key_columns', 'source_type', 'committed_at', 'produced_at', 'transaction_id']
) }}
