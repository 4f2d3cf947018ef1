{{ config(materialized='view') }}

with

statements as (

    select
        *,
        explode(dropped_tables) as dropped
    from {{ ref('events') }}
    where dropped_tables is not null

),

named as (

    select
        * except (database_name, schema_name, table_name),
        {{ names_of_dropped_table() }}
    from statements

),

-- A database that is dropped, or a schema, takes with it the tables that are known to have been in it.
known_tables as (

    select distinct
        database_name,
        schema_name,
        table_name
    from {{ ref('events') }}
    where kind = 'row_change'

),

dropped_tables as (

    select
        named.* except (schema_name, table_name),
        coalesce(named.schema_name, known_tables.schema_name) as schema_name,
        coalesce(named.table_name, known_tables.table_name) as table_name
    from named
    left join known_tables
        on
            named.table_name is null
            and named.database_name = known_tables.database_name
            and coalesce(named.schema_name = known_tables.schema_name, true)
    where coalesce(named.table_name, known_tables.table_name) is not null

)

select
    database_name,
    schema_name,
    table_name,
    concat_ws('.', database_name, schema_name, table_name) as source_table,
    format,
    source_type,
    ddl,
    sequence,
    committed_at,
    topic,
    partition,
    offset
from dropped_tables
-- Of a statement that was delivered again, the first.
qualify row_number() over (
    partition by database_name, schema_name, table_name, format, sequence
    order by topic, partition, offset
) = 1
