{{ config(materialized='follows', schema='marts', follows={'orders': ['customer_id', 'currency']}) }}

select
    customer_id,
    currency,
    count(*) as orders,
    sum(total) as total
from {{ ref('orders') }}
group by customer_id, currency
