with orders as (

    select * from {{ ref('stg_orders') }}

),

payments as (

    select
        order_id,
        {% for method in var('payment_methods') -%}
        sum(case when method = '{{ method }}' then amount else 0 end) as {{ method }}_amount,
        {% endfor -%}
        sum(amount) as amount
    from {{ ref('stg_payments') }}
    group by order_id

)

select
    orders.order_id,
    orders.customer_id,
    orders.ordered_at,
    orders.status,
    {% for method in var('payment_methods') -%}
    payments.{{ method }}_amount,
    {% endfor -%}
    payments.amount
from orders
left join payments on orders.order_id = payments.order_id
