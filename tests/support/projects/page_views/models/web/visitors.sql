select
    visitor,
    max(seen_at) as seen_at,
    max_by(plan, seen_at) as plan
from {{ ref('base_events') }}
group by visitor
