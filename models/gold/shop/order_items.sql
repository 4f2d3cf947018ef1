select
    {{ change_columns() }},
    try_cast(image['order_id'] as bigint) as order_id,
    try_cast(image['line_no'] as int) as line_no,
    image['sku'] as sku,
    image['title'] as title,
    try_cast(image['quantity'] as int) as quantity,
    try_cast(image['unit_price'] as decimal(10, 2)) as unit_price
from {{ row_images('shop.order_items') }}
