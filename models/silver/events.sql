{{ config(materialized='change_log', contract={'enforced': true}) }}

with

outcomes as (

    {{ outcomes_of(formats()) }}

)

select
    *,
    current_timestamp() as loaded_at
from outcomes
