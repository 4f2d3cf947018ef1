select
    {{ change_columns() }},
    try_cast(image['id'] as bigint) as id,
    image['name'] as name,
    image['email'] as email,
    try_cast(image['loyalty_number'] as decimal(20, 0)) as loyalty_number,
    try_cast(image['credit_limit'] as decimal(12, 2)) as credit_limit,
    try_cast(image['discount_rate'] as double) as discount_rate,
    try_cast(image['birth_date'] as date) as birth_date,
    try_cast(image['is_active'] as boolean) as is_active,
    try_cast(image['created_at'] as timestamp_ntz) as created_at,
    -- OMS Default carries no types: a timestamp is seconds since 1970 with a fraction.
    timestamp_seconds(try_cast(image['last_seen_at'] as decimal(18, 6))) as last_seen_at,
    image['phone'] as phone
from {{ row_images('crm.customers') }}
