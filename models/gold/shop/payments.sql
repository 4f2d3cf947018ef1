select
    {{ change_columns() }},
    try_cast(image['id'] as bigint) as id,
    try_cast(image['order_id'] as bigint) as order_id,
    try_cast(image['amount'] as decimal(12, 2)) as amount,
    image['currency'] as currency,
    image['method'] as method,
    image['payer'] as payer,
    try_cast(image['fee_rate'] as double) as fee_rate,
    try_cast(image['value_date'] as date) as value_date,
    try_cast(image['paid_at'] as timestamp_ntz) as paid_at,
    try_cast(image['captured_at'] as timestamp) as captured_at,
    unhex(image['receipt']) as receipt,
    image['note'] as note
from {{ row_images('shop.payments') }}
