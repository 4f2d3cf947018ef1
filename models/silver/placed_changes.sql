with

changes as (

    select
        *,
        xxhash64(format, database_name, schema_name, table_name, sequence) as place
    from {{ ref('events') }}
    where kind in ('row_change', 'truncate')

),

-- Two places may have the same number: changes that share no place are then compared as well, and are found to differ.
shared_places as (

    select place
    from changes
    group by place
    having count(*) > 1

)

select
    changes.* except (place),
    shared_places.place is not null as shares_place
from changes
left join shared_places
    on changes.place = shared_places.place
