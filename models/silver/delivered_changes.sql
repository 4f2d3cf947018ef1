{{ config(materialized='view') }}

with

events as (

    select * from {{ ref('events') }}
    where kind = 'row_change'

)

-- A copy is the same content at the same place in the order of its table.
select
    *,
    row_number() over (
        partition by
            format, database_name, schema_name, table_name, sequence, operation,
            to_json(struct(before, after))
        order by bronze_version, topic, partition, offset, row_number
    ) as delivery
from events
