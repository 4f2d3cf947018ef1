{{ config(change_feed=true) }}

select
    {{ change_columns() }},
    try_cast(image['id'] as bigint) as id,
    try_cast(image['customer_id'] as bigint) as customer_id,
    image['status'] as status,
    try_cast(image['total'] as decimal(10, 2)) as total,
    image['currency'] as currency,
    image['shipping_address'] as shipping_address,
    try_cast(image['ordered_at'] as timestamp_ntz) as ordered_at,
    try_cast(image['shipped_at'] as timestamp_ntz) as shipped_at,
    try_cast(image['updated_at'] as timestamp) as updated_at,
    image['note'] as note
from {{ row_images('shop.orders') }}
