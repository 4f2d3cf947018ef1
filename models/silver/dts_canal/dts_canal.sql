with

messages as (

    select * from {{ ref('messages') }}
    where format = 'dts_canal'

),

envelopes as (

    select
        *,
        {{ read_json(
            'value',
            'type string, database string, table string, id string, es string, ts string, gtid string, isDdl string,'
            ~ ' sql string, pkNames array<string>, mysqlType map<string, string>,'
            ~ ' data array<map<string, string>>, old array<map<string, string>>',
            prepare=quote_fractions
        ) }} as json
    from messages

),

-- A deleted row is in `data`; tasks from before 2022-03-20 write it into `old`.
read as (

    select
        *,
        json.*,
        {{ json_problem('value', 'json') }} as json_problem,
        json.type = 'DELETE' and coalesce(delete_image, if(size(json.data) > 0, 'data', 'old')) = 'old' as is_deleted_row_in_old,
        case
            when value is null then 'control'
            when json.type in ('INSERT', 'UPDATE', 'DELETE', 'INIT') then 'row_change'
            when json.type = 'TRUNCATE' then 'truncate'
            when
                json.type in ('DDL', 'CREATE', 'ALTER', 'ERASE', 'RENAME', 'CINDEX', 'DINDEX')
                or (json.type = 'QUERY' and json.isddl = 'true')
                then {{ ddl_kind('json.sql') }}
            when json.type in ('QUERY', 'GTID', 'XACOMMIT', 'XAROLLBACK') then 'control'
            when json.type = 'MHEARTBEAT' then 'heartbeat'
        end as kind,
        {{ database_or_default('json.database', 'kind') }} as source_database,
        coalesce(nullif(json.table, ''), {{ truncated_table('json.sql') }}) as source_table
    from envelopes

),

images as (

    select
        *,
        if(is_deleted_row_in_old, old, data) as row_images,
        if(type = 'UPDATE', old, cast(null as array<map<string, string>>)) as old_images
    from read

),

checked as (

    select
        *,
        case
            when value is null then null
            when route_problem is not null then route_problem
            when json_problem is not null then json_problem
            when kind is null
                then {{ problem('unknown_operation', "'type is ' || coalesce(type, 'missing')") }}
            when kind in ('row_change', 'truncate') and source_table is null
                then {{ problem('missing_table', "type || ' without a table'") }}
            when kind in ('row_change', 'truncate') and source_database is null
                then {{ problem('missing_database', "type || ' without a database: name it in seeds/topics.csv'") }}
            when kind = 'row_change' and (row_images is null or size(row_images) = 0)
                then {{ problem('missing_image', "type || ' without rows in ' || if(is_deleted_row_in_old, 'old', 'data')") }}
            when kind = 'row_change' and exists(row_images, image -> image is null or size(image) = 0)
                then {{ problem('missing_image', "type || ' with a row that is empty'") }}
            when old_images is not null and size(old_images) <> size(row_images)
                then {{ problem('wrong_type', "'old has ' || size(old_images) || ' rows, data has ' || size(row_images)") }}
            when kind in ('schema_change', 'truncate') and type <> 'TRUNCATE' and sql is null
                then {{ problem('missing_ddl', "type || ' without sql'") }}
            when id is not null and not id rlike '^[0-9]{1,20}$'
                then {{ problem('wrong_type', "'id is ' || id") }}
            when es is not null and not {{ is_epoch('es', 'milliseconds') }}
                then {{ problem('wrong_type', "'es is ' || es") }}
            when ts is not null and not {{ is_epoch('ts', 'milliseconds') }}
                then {{ problem('wrong_type', "'ts is ' || ts") }}
            when
                {{ is_ambiguous('mysqltype') }}
                or exists(data, image -> {{ is_ambiguous('image') }})
                or exists(old, image -> {{ is_ambiguous('image') }})
                then {{ problem('duplicate_keys', "'a column comes twice with different values'") }}
        end as problem
    from images

),

-- One row per row of the message; a message that is no row change has one row without images.
rows as (

    select
        *,
        if(problem is null, kind, 'rejected') as outcome,
        if(problem is null, {{ distinct_keys('mysqltype') }}, null) as types,
        posexplode(
            if(
                problem is null and kind = 'row_change',
                transform(row_images, (row, number) -> struct(row as new, get(old_images, number) as old)),
                array(cast(null as struct<new: map<string, string>, old: map<string, string>>))
            )
        ) as (row_number, image)
    from checked

),

canonical as (

    select
        *,
        {{ canonical_mysql_image(distinct_keys('image.new'), 'types', 'time_zone') }} as row_image,
        {{ canonical_mysql_image(distinct_keys('image.old'), 'types', 'time_zone') }} as old_image
    from rows

),

changes as (

    select
        *,
        coalesce(forall(map_keys(types), name -> map_contains_key(row_image, name)), true) as is_complete,
        case type when 'INIT' then 'snapshot' when 'INSERT' then 'insert' when 'UPDATE' then 'update' when 'DELETE' then 'delete' end
            as row_operation
    from canonical

)

select
    topic,
    partition,
    offset,
    row_number,
    format,
    outcome as kind,
    if(outcome = 'row_change', row_operation, null) as operation,
    if(outcome = 'rejected', null, source_database) as database_name,
    cast(null as string) as schema_name,
    if(outcome = 'rejected', null, source_table) as table_name,
    if(outcome = 'row_change' and size(pknames) > 0, pknames, null) as key_columns,
    -- `old` holds the changed columns only; laid over a whole row in `data` it gives the row as it was.
    case row_operation
        when 'delete' then row_image
        when 'update' then map_concat(
            if(is_complete, map_filter(row_image, (name, text) -> not map_contains_key(old_image, name)), map()),
            old_image
        )
    end as before,
    if(row_operation = 'delete', null, row_image) as after,
    case
        when row_operation = 'delete' and row_image is not null then is_complete
        when row_operation = 'update' and old_image is not null then is_complete
    end as before_is_complete,
    if(row_operation = 'delete' or row_image is null, null, is_complete) as after_is_complete,
    if(outcome = 'row_change', types, null) as column_types,
    if(outcome in ('schema_change', 'truncate'), sql, null) as ddl,
    if(outcome = 'rejected', null, {{ epoch_to_timestamp('es', 'milliseconds') }}) as committed_at,
    if(outcome = 'rejected', null, {{ epoch_to_timestamp('ts', 'milliseconds') }}) as produced_at,
    ingested_at,
    case
        when outcome not in ('row_change', 'schema_change', 'truncate') then null
        when id is not null then {{ sequence(['id', 'row_number']) }}
        else {{ sequence(["coalesce(nullif(es, '-1'), '0')", 'partition', 'offset', 'row_number']) }}
    end as sequence,
    if(outcome = 'rejected', null, nullif(gtid, '')) as transaction_id,
    cast(null as bigint) as transaction_row,
    problem.code as reject_reason,
    problem.detail as reject_detail,
    bronze_version
from changes
