select order_id
from {{ ref('orders') }}
where amount <> card_amount + cash_amount + voucher_amount
