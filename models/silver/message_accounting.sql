{{ config(materialized='view') }}

with

deliveries as (

    select
        topic,
        partition,
        sum(deliveries) as deliveries,
        sum(bitmap_count(offsets)) as messages,
        min(first_offset) as first_offset,
        max(last_offset) as last_offset,
        max(last_ingested_at) as last_ingested_at
    from {{ ref('message_counts') }}
    group by topic, partition

),

removed as (

    select
        topic,
        partition,
        sum(messages) as messages,
        min(first_offset) as first_offset,
        max(last_offset) as last_offset
    from {{ source('bronze', 'removed_messages') }}
    group by topic, partition

),

-- Some of what was removed may have been delivered again.
landed_again as (

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

gaps as (

    select
        topic,
        partition,
        min(first_offset) as first_offset,
        max(last_offset) as last_offset
    from {{ source('bronze', 'offset_gaps') }}
    group by topic, partition

),

received as (

    select
        coalesce(deliveries.topic, removed.topic, gaps.topic) as topic,
        coalesce(deliveries.partition, removed.partition, gaps.partition) as partition,
        coalesce(deliveries.messages, 0) + coalesce(removed.messages, 0) - coalesce(landed_again.messages, 0) as messages,
        coalesce(deliveries.deliveries - deliveries.messages, 0) as repeated_identities,
        least(deliveries.first_offset, removed.first_offset) as first_offset,
        greatest(deliveries.last_offset, removed.last_offset) as last_offset,
        greatest(deliveries.last_offset, removed.last_offset, gaps.last_offset)
        - least(deliveries.first_offset, removed.first_offset, gaps.first_offset) + 1 as offsets,
        deliveries.last_ingested_at
    from deliveries
    full outer join removed
        on deliveries.topic = removed.topic and deliveries.partition = removed.partition
    full outer join gaps
        on
            coalesce(deliveries.topic, removed.topic) = gaps.topic
            and coalesce(deliveries.partition, removed.partition) = gaps.partition
    left join landed_again
        on deliveries.topic = landed_again.topic and deliveries.partition = landed_again.partition

),

outcomes as (

    select
        topic,
        partition,
        sum(outcomes) filter (where kind = 'row_change') as row_changes,
        sum(outcomes) filter (where operation = 'snapshot') as snapshots,
        sum(outcomes) filter (where operation = 'insert') as inserts,
        sum(outcomes) filter (where operation in ('update', 'update_before', 'update_after')) as updates,
        sum(outcomes) filter (where operation = 'delete') as deletes,
        sum(outcomes) filter (where kind = 'truncate') as truncates,
        sum(outcomes) filter (where kind = 'schema_change') as schema_changes,
        sum(outcomes) filter (where kind = 'heartbeat') as heartbeats,
        sum(outcomes) filter (where kind in ('transaction_begin', 'transaction_end')) as transaction_markers,
        sum(outcomes) filter (where kind = 'control') as controls,
        sum(outcomes) filter (where kind = 'rejected') as rejected,
        sum(outcomes) filter (where is_duplicate) as repeated_changes,
        sum(outcomes) filter (where is_late) as late_changes,
        max(last_commit.committed_at) as last_committed_at,
        max(last_ingested_at) as last_ingested_at
    from {{ ref('outcome_counts') }}
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
    coalesce(outcomes.repeated_changes, 0) as repeated_changes,
    coalesce(outcomes.late_changes, 0) as late_changes,
    received.repeated_identities,
    received.offsets - received.messages as missing_offsets,
    received.first_offset,
    received.last_offset,
    outcomes.last_committed_at,
    greatest(received.last_ingested_at, outcomes.last_ingested_at) as last_ingested_at
from received
left join outcomes
    on received.topic = outcomes.topic and received.partition = outcomes.partition
