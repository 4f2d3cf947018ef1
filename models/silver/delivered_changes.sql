{{ config(materialized='view') }}

with

changes as (

    select * from {{ ref('placed_changes') }}
    where kind = 'row_change'

)

-- What has its place to itself has no copy: its images are compared with no others.
select
    * except (shares_place),
    1 as delivery
from changes
where not shares_place
union all
-- A copy is the same content at the same place in the order of its table.
select
    * except (shares_place),
    row_number() over (
        partition by
            format, database_name, schema_name, table_name, sequence, operation,
            to_json(struct(before, after))
        order by bronze_version, topic, partition, offset, row_number
    ) as delivery
from changes
where shares_place
