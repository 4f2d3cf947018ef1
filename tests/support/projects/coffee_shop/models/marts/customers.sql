select
    customers.customer_id,
    customers.first_name,
    customers.last_name,
    count(orders.order_id) as number_of_orders,
    coalesce(sum(orders.amount), 0) as lifetime_value
from {{ ref('stg_customers') }} as customers
left join {{ ref('orders') }} as orders on customers.customer_id = orders.customer_id
group by customers.customer_id, customers.first_name, customers.last_name
