{{ config(materialized='view') }}

select
    topic,
    format,
    reject_reason,
    count(*) as messages,
    min(offset) as first_offset,
    max(offset) as last_offset,
    min_by(reject_detail, struct(ingested_at, partition, offset)) as first_detail,
    max(ingested_at) as last_ingested_at
from {{ ref('events') }}
where kind = 'rejected'
group by topic, format, reject_reason
