{#-
    The changes of DRS in Canal's envelope, where `old` is the whole row as it was. JSON and JSON-C are one format but for
    `deleted_row_in`, the field of a deleted row. Times are read in either's form, so that they need no second fact.
-#}
{% macro drs_changes(format, deleted_row_in) -%}
with

messages as (

    select
        *,
        {{ exact_json(canal_fields(more=', columnType map<string, string>, dbType string'), statement='sql') }} as exact
    from {{ ref('messages') }}
    where format = '{{ format }}'

),

envelopes as (

    select
        *,
        {{ read_json(canal_fields(more=', columnType map<string, string>, dbType string')) }} as json
    from messages

),

read as (

    select
        *,
        json.*,
        exact.problem as json_problem,
        {{ canal_statement() }} as statement,
        exact.stated,
        {{ canal_kind(full_load='INIT') }} as kind,
        {{ truncated_tables('json.table') }} as truncated,
        {{ dropped_tables('json.table') }} as dropped,
        {{ database_or_default('json.database', 'kind') }} as source_database,
        coalesce(get(truncated, 0).table_name, nullif(json.table, '')) as source_table,
        coalesce(json.mysqltype, json.columntype) as sent_types,
        -- Types of MySQL have a field of their own.
        coalesce(lower(nullif(json.dbtype, '')), if(json.mysqltype is not null, 'mysql', null)) as source_type,
        {{ field_of_rows(deleted_row_in) }} as image_field,
        if(image_field = 'old', json.old, json.data) as row_images,
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
        {{ canonical_drs_image('image.new', 'types', 'mysqltype is not null', 'time_zone') }} as row_image,
        {{ canonical_drs_image('image.old', 'types', 'mysqltype is not null', 'time_zone') }} as old_image
    from rows

),

changes as (

    select
        *,
        {{ has_all_columns('old_image', 'coalesce(types, row_image)') }} as old_looks_whole,
        {{ has_all_columns('row_image', 'types') }} as looks_whole,
        if(outcome = 'row_change', if(type = 'INIT', 'snapshot', lower(type)), null) as row_operation
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
        when 'update' then old_image
    end as before,
    -- `old` is the whole row, so that it completes a `data` which is not.
    case
        when row_operation = 'update' and old_image is not null then {{ laid_over_whole('row_image', 'old_image', 'old_looks_whole') }}
        when row_operation <> 'delete' then row_image
    end as after,
    if(row_operation = 'delete' or (row_operation = 'update' and old_image is not null), false, null) as before_is_complete,
    if(row_operation <> 'delete', row_operation <> 'update' and looks_whole, null) as after_is_complete,
    if(outcome = 'row_change', types, null) as column_types,
    if(outcome = 'rejected', null, source_type) as source_type,
    if(outcome in ('schema_change', 'truncate'), sql, null) as ddl,
    if(outcome = 'schema_change', dropped, null) as dropped_tables,
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
{%- endmacro %}
