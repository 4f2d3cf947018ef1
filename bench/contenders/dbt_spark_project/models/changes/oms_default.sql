select
    case
        when message.recordType = 'DELETE' then true
        when message.recordType in ('ROW', 'INSERT', 'UPDATE', 'REPLACE') then false
    end as _deleted,
    coalesce(message.allMetaData.storeDataSequence, 0) as _sequence,
    coalesce(message.postStruct.id, message.prevStruct.id) as id,
    message.postStruct.customer_id,
    message.postStruct.status,
    message.postStruct.total,
    message.postStruct.ledger,
    message.postStruct.discount,
    message.postStruct.currency,
    message.postStruct.channel,
    message.postStruct.items,
    message.postStruct.is_gift,
    message.postStruct.coupon,
    message.postStruct.customer,
    message.postStruct.address,
    cast(message.postStruct.ordered_at as timestamp_ntz) as ordered_at,
    cast(message.postStruct.paid_at as timestamp_ntz) as paid_at,
    cast(message.postStruct.shipped_at as timestamp_ntz) as shipped_at,
    timestamp_seconds(cast(message.postStruct.updated_at as decimal(16, 6))) as updated_at,
    cast(message.postStruct.due_on as date) as due_on,
    message.postStruct.revision,
    message.postStruct.note
from (
    select from_json(cast(value as string), '
        recordType string,
        allMetaData struct<storeDataSequence: bigint>,
        prevStruct struct<id: bigint>,
        postStruct struct<
            id: bigint, customer_id: int, status: string, total: decimal(12, 2),
            ledger: decimal(30, 10), discount: double, currency: string, channel: string,
            items: smallint, is_gift: tinyint, coupon: string, customer: string, address: string,
            ordered_at: string, paid_at: string, shipped_at: string, updated_at: string,
            due_on: string, revision: bigint, note: string
        >
    ') as message
    from messages
)
