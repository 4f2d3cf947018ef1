{{
    config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key=['visitor', 'session_number'],
        on_schema_change='append_new_columns'
    )
}}

with views as (

    select
        *,
        lag(seen_at) over (partition by visitor order by seen_at) as previous_at
    from {{ ref('base_events') }}

),

numbered as (

    select
        *,
        sum(case when {{ is_new_session('previous_at', 'seen_at') }} then 1 else 0 end)
            over (partition by visitor order by seen_at) as session_number
    from views

)

select
    visitor,
    session_number,
    min(seen_at) as began_at,
    max(seen_at) as ended_at,
    count(*) as pages
from numbered
group by visitor, session_number
{% if is_incremental() %}
having max(seen_at) > (select max(ended_at) from {{ this }})
{% endif %}
