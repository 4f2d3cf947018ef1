{{ config(materialized='summary') }}

with

counts as (

    select * from {{ kept_rows() }}
    union all
    select
        topic,
        partition,
        bitmap_bucket_number(offset) as bucket,
        count(*) as deliveries,
        bitmap_construct_agg(bitmap_bit_position(offset)) as offsets,
        min(offset) as first_offset,
        max(offset) as last_offset,
        max(ingested_at) as last_ingested_at,
        -- It stays as it is when a message is given another format.
        max(_metadata.row_id) as row_id
    from {{ source('bronze', 'messages') }}
    where _metadata.row_id > {{ last_kept('row_id') }}
    group by topic, partition, bitmap_bucket_number(offset)

)

select
    topic,
    partition,
    bucket,
    sum(deliveries) as deliveries,
    bitmap_or_agg(offsets) as offsets,
    min(first_offset) as first_offset,
    max(last_offset) as last_offset,
    max(last_ingested_at) as last_ingested_at,
    max(row_id) as row_id
from counts
group by topic, partition, bucket
