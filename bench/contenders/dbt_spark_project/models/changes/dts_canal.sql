select
    message.type = 'DELETE' as _deleted,
    message.id as _sequence,
    cast(row.id as bigint) as id,
    cast(row.customer_id as int) as customer_id,
    row.status,
    cast(row.total as decimal(12, 2)) as total,
    cast(row.ledger as decimal(30, 10)) as ledger,
    cast(row.discount as double) as discount,
    row.currency,
    row.channel,
    cast(row.items as smallint) as items,
    cast(row.is_gift as tinyint) as is_gift,
    row.coupon,
    row.customer,
    row.address,
    cast(row.ordered_at as timestamp_ntz) as ordered_at,
    cast(row.paid_at as timestamp_ntz) as paid_at,
    cast(row.shipped_at as timestamp_ntz) as shipped_at,
    cast(row.updated_at as timestamp) as updated_at,
    cast(row.due_on as date) as due_on,
    cast(row.revision as bigint) as revision,
    row.note
from (
    select from_json(cast(value as string), '
        type string, id bigint, data array<struct<
            id: string, customer_id: string, status: string, total: string, ledger: string,
            discount: string, currency: string, channel: string, items: string, is_gift: string,
            coupon: string, customer: string, address: string, ordered_at: string,
            paid_at: string, shipped_at: string, updated_at: string, due_on: string,
            revision: string, note: string
        >>
    ') as message
    from messages
)
lateral view explode(message.data) as row
