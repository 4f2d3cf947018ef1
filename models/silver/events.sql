{{ config(materialized='change_log', contract={'enforced': true}) }}

with

outcomes as (

    {{ outcomes_of(formats()) }}

)

select
    outcomes.*,
    case
        when outcomes.kind in ('row_change', 'truncate') then coalesce(outcomes.sequence < latest.sequence, false)
    end as is_late,
    -- The materialization finds those that are.
    if(outcomes.kind = 'row_change', false, null) as is_duplicate,
    current_timestamp() as loaded_at
from outcomes
left join {{ latest_changes() }} as latest
    on
        outcomes.format = latest.format
        and outcomes.database_name <=> latest.database_name
        and outcomes.schema_name <=> latest.schema_name
        and outcomes.table_name <=> latest.table_name
