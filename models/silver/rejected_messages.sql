{{ config(materialized='view') }}

with

rejected as (

    select * from {{ ref('events') }}
    where kind = 'rejected'

),

messages as (

    select
        *,
        _metadata.row_commit_version as bronze_version
    from {{ source('bronze', 'messages') }}

)

select
    rejected.topic,
    rejected.partition,
    rejected.offset,
    rejected.format,
    rejected.reject_reason,
    rejected.reject_detail,
    messages.timestamp,
    messages.key,
    messages.value,
    messages.headers,
    rejected.ingested_at,
    rejected.bronze_version
from rejected
inner join messages
    on
        rejected.topic = messages.topic
        and rejected.partition = messages.partition
        and rejected.offset = messages.offset
        and rejected.bronze_version = messages.bronze_version
