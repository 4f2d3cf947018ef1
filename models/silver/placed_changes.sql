with

changes as (

    select * from {{ ref('events') }}
    where kind in ('row_change', 'truncate')

),

shared_places as (

    select
        format,
        database_name,
        schema_name,
        table_name,
        sequence
    from changes
    group by format, database_name, schema_name, table_name, sequence
    having count(*) > 1

)

select
    changes.*,
    shared_places.format is not null as shares_place
from changes
left join shared_places
    on
        changes.format = shared_places.format
        and changes.database_name <=> shared_places.database_name
        and changes.schema_name <=> shared_places.schema_name
        and changes.table_name <=> shared_places.table_name
        and changes.sequence <=> shared_places.sequence
