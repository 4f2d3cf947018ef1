{{ config(materialized='table', partition_by=['page'], post_hook="insert into {{ this }} values (0, 'end')") }}

select
    count(*) as views,
    page
from {{ ref('base_events') }}
group by page
