select
    event_id,
    visitor,
    page,
    seen_at,
    plan
from {{ ref('events') }}
