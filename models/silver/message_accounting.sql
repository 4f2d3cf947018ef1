{{ config(materialized='view') }}

with

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

known as (

    select
        topic,
        partition,
        bitmap_count(offsets) as messages,
        deliveries - bitmap_count(offsets) as repeated_identities,
        first_offset,
        last_offset,
        first_offset as first_known_offset,
        last_offset as last_known_offset,
        last_ingested_at
    from {{ ref('message_counts') }}
    union all
    select
        topic,
        partition,
        messages,
        0 as repeated_identities,
        first_offset,
        last_offset,
        first_offset as first_known_offset,
        last_offset as last_known_offset,
        null as last_ingested_at
    from {{ source('bronze', 'removed_messages') }}
    union all
    select
        topic,
        partition,
        -messages as messages,
        0 as repeated_identities,
        null as first_offset,
        null as last_offset,
        null as first_known_offset,
        null as last_known_offset,
        null as last_ingested_at
    from landed_again
    union all
    select
        topic,
        partition,
        0 as messages,
        0 as repeated_identities,
        null as first_offset,
        null as last_offset,
        first_offset as first_known_offset,
        last_offset as last_known_offset,
        null as last_ingested_at
    from {{ source('bronze', 'offset_gaps') }}

),

received as (

    select
        topic,
        partition,
        sum(messages) as messages,
        sum(repeated_identities) as repeated_identities,
        min(first_offset) as first_offset,
        max(last_offset) as last_offset,
        max(last_known_offset) - min(first_known_offset) + 1 as offsets,
        max(last_ingested_at) as last_ingested_at
    from known
    group by topic, partition

),

results as (

    select
        topic,
        partition,
        sum(results) filter (where kind = 'row_change') as row_changes,
        sum(results) filter (where operation = 'snapshot') as snapshots,
        sum(results) filter (where operation = 'insert') as inserts,
        sum(results) filter (where operation in ('update', 'update_before', 'update_after')) as updates,
        sum(results) filter (where operation = 'delete') as deletes,
        sum(results) filter (where kind = 'truncate') as truncates,
        sum(results) filter (where kind = 'schema_change') as schema_changes,
        sum(results) filter (where kind = 'heartbeat') as heartbeats,
        sum(results) filter (where kind in ('transaction_begin', 'transaction_end')) as transaction_markers,
        sum(results) filter (where kind = 'control') as controls,
        sum(results) filter (where kind = 'rejected') as rejected,
        sum(results) filter (where is_duplicate) as repeated_changes,
        sum(results) filter (where is_late) as late_changes,
        max(last_commit.committed_at) as last_committed_at,
        max(last_ingested_at) as last_ingested_at
    from {{ ref('result_counts') }}
    group by topic, partition

)

select
    received.topic,
    received.partition,
    received.messages,
    coalesce(results.row_changes, 0) as row_changes,
    coalesce(results.snapshots, 0) as snapshots,
    coalesce(results.inserts, 0) as inserts,
    coalesce(results.updates, 0) as updates,
    coalesce(results.deletes, 0) as deletes,
    coalesce(results.truncates, 0) as truncates,
    coalesce(results.schema_changes, 0) as schema_changes,
    coalesce(results.heartbeats, 0) as heartbeats,
    coalesce(results.transaction_markers, 0) as transaction_markers,
    coalesce(results.controls, 0) as controls,
    coalesce(results.rejected, 0) as rejected,
    coalesce(results.repeated_changes, 0) as repeated_changes,
    coalesce(results.late_changes, 0) as late_changes,
    received.repeated_identities,
    received.offsets - received.messages as missing_offsets,
    received.first_offset,
    received.last_offset,
    results.last_committed_at,
    greatest(received.last_ingested_at, results.last_ingested_at) as last_ingested_at
from received
left join results
    on received.topic = results.topic and received.partition = results.partition
