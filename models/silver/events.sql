{{ config(materialized='change_log', contract={'enforced': true}) }}

with

outcomes as (

    select * from {{ ref('dts_avro') }}
    union all
    select * from {{ ref('dts_canal') }}
    union all
    select * from {{ ref('oms_default') }}
    union all
    select * from {{ ref('unrouted') }}

)

select
    *,
    current_timestamp() as loaded_at
from outcomes
