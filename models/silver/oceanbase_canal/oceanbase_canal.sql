with

messages as (

    select
        *,
        {{ exact_json(canal_fields(), statement='sql') }} as exact
    from {{ ref('messages') }}
    where format = 'oceanbase_canal'

),

envelopes as (

    select
        *,
        {{ read_json(canal_fields()) }} as json
    from messages

),

read as (

    select
        *,
        json.*,
        exact.problem as json_problem,
        {{ canal_statement() }} as statement,
        exact.stated,
        {{ canal_kind() }} as kind,
        {{ truncated_tables('json.table') }} as truncated,
        {{ dropped_tables('json.table') }} as dropped,
        {{ database_or_default('json.database', 'kind') }} as source_database,
        coalesce(get(truncated, 0).table_name, nullif(json.table, '')) as source_table,
        json.mysqltype as sent_types,
        'data' as image_field,
        json.data as row_images,
        if(json.type = 'UPDATE', json.old, cast(null as array<map<string, string>>)) as old_images
    from envelopes

),

checked as (

    select
        *,
        if(value is null, null, {{ canal_problem() }}) as problem
    from read

),

-- One row per row of the message; a message that is no row change has one row without images.
rows as (

    select
        *,
        if(problem is null, kind, 'rejected') as outcome,
        if(problem is null, sent_types, null) as types,
        {{ canal_rows() }} as (row_number, image)
    from checked

),

canonical as (

    select
        *,
        {{ canonical_mysql_image('image.new', 'types', 'time_zone') }} as row_image,
        {{ canonical_mysql_image('image.old', 'types', 'time_zone') }} as old_image
    from rows

),

changes as (

    select
        *,
        {{ looks_whole('row_image', 'old_image', 'types') }} as looks_whole,
        if(outcome = 'row_change', lower(type), null) as row_operation
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
    cast(null as string) as schema_name,
    if(outcome = 'rejected', null, coalesce(get(truncated, row_number).table_name, source_table)) as table_name,
    if(outcome = 'row_change' and size(pknames) > 0, pknames, null) as key_columns,
    case row_operation
        when 'delete' then row_image
        when 'update' then {{ laid_over_whole('old_image', 'row_image', 'looks_whole') }}
    end as before,
    if(row_operation = 'delete', null, row_image) as after,
    if(row_operation = 'delete' or (row_operation = 'update' and old_image is not null), false, null) as before_is_complete,
    if(row_operation <> 'delete', row_operation <> 'update' and looks_whole, null) as after_is_complete,
    if(outcome = 'row_change', types, null) as column_types,
    cast(null as string) as source_type,
    if(outcome in ('schema_change', 'truncate'), sql, null) as ddl,
    if(outcome = 'schema_change', dropped, null) as dropped_tables,
    if(outcome = 'rejected', null, {{ epoch_to_timestamp('es', 'milliseconds') }}) as committed_at,
    if(outcome = 'rejected', null, {{ epoch_to_timestamp('ts', 'milliseconds') }}) as produced_at,
    ingested_at,
    -- `id` is the number of a batch, which its messages share and which begins again: the delivery decides among them.
    if(
        outcome in ('row_change', 'schema_change', 'truncate'),
        {{ sequence(["coalesce(nullif(es, '-1'), '0')", "coalesce(id, '0')", 'partition', 'offset', 'row_number']) }},
        null
    ) as sequence,
    if(outcome = 'rejected', null, nullif(gtid, '')) as transaction_id,
    cast(null as bigint) as transaction_row,
    problem.code as reject_reason,
    problem.detail as reject_detail,
    bronze_version
from changes
