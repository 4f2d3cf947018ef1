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

-- Of what bronze no longer holds, some may have been delivered again.
removed_and_landed_again as (

    select
        messages.topic,
        messages.partition,
        count(distinct messages.offset) as messages
    from {{ source('bronze', 'messages') }} as messages
    inner join {{ source('bronze', 'removed_messages') }} as runs
        on
            messages.topic = runs.topic
            and messages.partition = runs.partition
            and messages.offset between runs.first_offset and runs.last_offset
    group by messages.topic, messages.partition

),

-- What was held or is, and what Kafka had deleted before it was read.
parts as (

    select
        topic,
        partition,
        deliveries,
        messages as held_messages,
        messages,
        first_offset,
        last_offset,
        first_offset as first_known_offset,
        last_offset as last_known_offset,
        last_ingested_at
    from deliveries
    union all
    select topic, partition, 0, 0, messages, first_offset, last_offset, first_offset, last_offset, null
    from {{ source('bronze', 'removed_messages') }}
    union all
    select topic, partition, 0, 0, -messages, null, null, null, null, null
    from removed_and_landed_again
    union all
    select topic, partition, 0, 0, 0, null, null, first_offset, last_offset, null
    from {{ source('bronze', 'offset_gaps') }}

),

received as (

    select
        topic,
        partition,
        sum(messages) as messages,
        sum(deliveries) - sum(held_messages) as repeated_identities,
        max(last_known_offset) - min(first_known_offset) + 1 - sum(messages) as missing_offsets,
        min(first_offset) as first_offset,
        max(last_offset) as last_offset,
        max(last_ingested_at) as last_ingested_at
    from parts
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
        max(committed_at) as last_committed_at,
        max(ingested_at) as last_ingested_at
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
    received.topic,
    received.partition,
    received.messages,
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
    received.repeated_identities,
    received.missing_offsets,
    received.first_offset,
    received.last_offset,
    outcomes.last_committed_at,
    greatest(received.last_ingested_at, outcomes.last_ingested_at) as last_ingested_at
from received
left join outcomes
    on received.topic = outcomes.topic and received.partition = outcomes.partition
left join copies
    on received.topic = copies.topic and received.partition = copies.partition
