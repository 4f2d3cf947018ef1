{{ config(materialized='view') }}

with

statements as (

    select
        *,
        read_ddl(ddl) as stated
    from {{ ref('schema_changes') }}
    where kind = 'schema_change' and read_ddl(ddl).action <> 'index'

),

statements_of_databases as (

    select
        database_name,
        format,
        collect_list(struct(sequence, committed_at, ddl, schema_name, table_name, stated.names, stated.renamed_columns)) as statements
    from statements
    group by database_name, format

),

drifts as (

    select
        database_name,
        schema_name,
        table_name,
        format,
        source_type,
        column_name,
        whole_image_sequences,
        stack(
            3,
            'new', is_new, cast(null as string), column_type, first_seen,
            'retyped', previous_type is not null, previous_type, column_type, first_seen,
            'vanished', missing_since is not null, column_type, cast(null as string), missing_since
        ) as (drift, is_drift, type_before, type_after, place)
    from {{ ref('source_columns') }}

),

drifts_of_tables as (

    select
        drifts.*,
        filter(
            statements_of_databases.statements,
            statement -> coalesce(statement.schema_name = drifts.schema_name, true)
            and coalesce(statement.table_name = drifts.table_name, array_contains(statement.names, lower(drifts.table_name)))
        ) as statements,
        collect_list(
            if(drifts.drift in ('new', 'vanished'), struct(drifts.drift, drifts.column_name, drifts.type_before), null)
        ) over (partition by drifts.database_name, drifts.schema_name, drifts.table_name, drifts.format) as candidates
    from drifts
    left join statements_of_databases
        on drifts.database_name = statements_of_databases.database_name and drifts.format = statements_of_databases.format
    where drifts.is_drift

),

-- A column that vanished and one that is new are one column if a statement says so.
renamed as (

    select
        *,
        get(
            filter(
                candidates,
                other -> exists(
                    flatten(statements.renamed_columns),
                    rename -> (drift, other.drift) in (('new', 'vanished'), ('vanished', 'new'))
                    and lower(rename.previous_name) = lower(if(drift = 'new', other.column_name, column_name))
                    and lower(rename.name) = lower(if(drift = 'new', column_name, other.column_name))
                    and other.column_name <> column_name
                )
            ),
            0
        ) as counterpart,
        array_max(
            transform(
                filter(statements, statement -> statement.sequence <= place.sequence),
                statement -> struct(
                    array_contains(statement.names, lower(column_name)) as is_named,
                    statement.sequence,
                    statement.committed_at,
                    statement.ddl
                )
            )
        ) as cause,
        array_max(filter(whole_image_sequences, sequence -> sequence < place.sequence)) as sequence_before
    from drifts_of_tables

),

tables as (

    select
        database_name,
        schema_name,
        table_name,
        'dropped_table' as drift,
        cast(null as string) as previous_name,
        struct(sequence, committed_at, topic, partition, offset) as place,
        source_type,
        format,
        ddl
    from {{ ref('dropped_tables') }}
    union all
    select
        database_name,
        schema_name,
        rename.name as table_name,
        'renamed_table' as drift,
        rename.previous_name,
        min(struct(sequence, committed_at, topic, partition, offset)) as place,
        min_by(source_type, struct(sequence, topic, partition, offset)) as source_type,
        format,
        min_by(ddl, struct(sequence, topic, partition, offset)) as ddl
    from statements
        lateral view explode(stated.renamed_tables) as rename
    group by database_name, schema_name, format, rename

)

select
    database_name,
    schema_name,
    table_name,
    column_name,
    if(counterpart is null, drift, 'renamed') as drift,
    counterpart.column_name as previous_name,
    coalesce(counterpart.type_before, type_before) as previous_type,
    type_after as column_type,
    source_type,
    format,
    place.*,
    if(cause.is_named or cause.sequence > coalesce(sequence_before, ''), cause.ddl, null) as ddl,
    if(cause.is_named or cause.sequence > coalesce(sequence_before, ''), cause.committed_at, null) as ddl_committed_at
from renamed
where not (drift = 'vanished' and counterpart is not null)
union all
select
    database_name,
    schema_name,
    table_name,
    cast(null as string) as column_name,
    drift,
    previous_name,
    cast(null as string) as previous_type,
    cast(null as string) as column_type,
    source_type,
    format,
    place.*,
    ddl,
    place.committed_at as ddl_committed_at
from tables
