with

statements as (

    select
        *,
        read_ddl(ddl) as stated
    from {{ ref('events') }}
    where kind = 'schema_change'

),

alterations as (

    select
        *,
        explode(stated.altered_columns) as altered
    from statements

),

-- The message's name of a table is taken before that of its text, unless the text alters several.
named as (

    select
        *,
        if(
            size(stated.tables) = 1 and nullif(table_name, '') is not null,
            struct(cast(null as string) as database_name, cast(null as string) as schema_name, table_name),
            get({{ tables_of_statement('source_type') }}, altered.table_number)
        ) as altered_table
    from alterations

)

select
    coalesce(altered_table.database_name, database_name) as database_name,
    coalesce(altered_table.schema_name, schema_name) as schema_name,
    altered_table.table_name,
    format,
    lower(altered.column_name) as column_name,
    max(sequence) filter (where altered.is_added) as last_added,
    collect_list(struct(sequence, committed_at, topic, partition, offset)) filter (where not altered.is_added) as drops
from named
group by 1, 2, 3, 4, 5
