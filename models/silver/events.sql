{{ config(materialized='change_log', contract={'enforced': true}) }}

with

results as (

    {{ results_of(formats() + ['full_extract'], twins()) }}

),

protected as (

    {{ protected('results', 'silver') }}

)

select
    protected.*,
    case
        when protected.kind in ('row_change', 'truncate') then coalesce(protected.sequence < latest.sequence, false)
    end as is_late,
    -- The materialization finds those that are.
    if(protected.kind = 'row_change', false, null) as is_duplicate,
    current_timestamp() as loaded_at
from protected
left join {{ latest_changes() }} as latest
    on
        protected.format = latest.format
        and protected.database_name <=> latest.database_name
        and protected.schema_name <=> latest.schema_name
        and protected.table_name <=> latest.table_name
