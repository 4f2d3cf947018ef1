{{ config(materialized='view') }}

with

deliveries as (

    select
        topic,
        partition,
        count(*) as deliveries,
        count(distinct offset) as messages,
        min(offset) as first_offset,
        max(offset) as last_offset,
        max(ingested_at) as last_ingested_at
    from {{ source('bronze', 'messages') }}
    group by topic, partition

),

gaps as (

    select
        topic,
        partition,
        min(first_offset) as first_offset,
        max(last_offset) as last_offset
    from {{ source('bronze', 'offset_gaps') }}
    group by topic, partition

),

outcomes as (

    select
        topic,
        partition,
        count_if(kind = 'row_change') as row_changes,
        count_if(operation = 'snapshot') as snapshots,
        count_if(operation = 'insert') as inserts,
        count_if(operation in ('update', 'update_before', 'update_after')) as updates,
        count_if(operation = 'delete') as deletes,
        count_if(kind = 'truncate') as truncates,
        count_if(kind = 'schema_change') as schema_changes,
        count_if(kind = 'heartbeat') as heartbeats,
        count_if(kind in ('transaction_begin', 'transaction_end')) as transaction_markers,
        count_if(kind = 'control') as controls,
        count_if(kind = 'rejected') as rejected,
        max(committed_at) as last_committed_at
    from {{ ref('events') }}
    group by topic, partition

),

copies as (

    select
        topic,
        partition,
        count(*) as repeated_changes
    from {{ ref('delivered_changes') }}
    where delivery > 1
    group by topic, partition

)

select
    coalesce(deliveries.topic, gaps.topic) as topic,
    coalesce(deliveries.partition, gaps.partition) as partition,
    coalesce(deliveries.messages, 0) as messages,
    coalesce(outcomes.row_changes, 0) as row_changes,
    coalesce(outcomes.snapshots, 0) as snapshots,
    coalesce(outcomes.inserts, 0) as inserts,
    coalesce(outcomes.updates, 0) as updates,
    coalesce(outcomes.deletes, 0) as deletes,
    coalesce(outcomes.truncates, 0) as truncates,
    coalesce(outcomes.schema_changes, 0) as schema_changes,
    coalesce(outcomes.heartbeats, 0) as heartbeats,
    coalesce(outcomes.transaction_markers, 0) as transaction_markers,
    coalesce(outcomes.controls, 0) as controls,
    coalesce(outcomes.rejected, 0) as rejected,
    coalesce(copies.repeated_changes, 0) as repeated_changes,
    coalesce(deliveries.deliveries - deliveries.messages, 0) as repeated_identities,
    greatest(deliveries.last_offset, gaps.last_offset) - least(deliveries.first_offset, gaps.first_offset) + 1
    - coalesce(deliveries.messages, 0) as missing_offsets,
    deliveries.first_offset,
    deliveries.last_offset,
    outcomes.last_committed_at,
    deliveries.last_ingested_at
from deliveries
full join gaps
    on deliveries.topic = gaps.topic and deliveries.partition = gaps.partition
left join outcomes
    on deliveries.topic = outcomes.topic and deliveries.partition = outcomes.partition
left join copies
    on deliveries.topic = copies.topic and deliveries.partition = copies.partition
