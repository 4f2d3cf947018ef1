{{ config(materialized='incremental', incremental_strategy='append', tags=['raw']) }}

select
    event_id,
    page,
    seen_at
from {{ ref('base_events') }}
{% if is_incremental() %}
where event_id not in (select event_id from {{ this }})
{% endif %}
