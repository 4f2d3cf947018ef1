-- Conservation: of every topic and partition, the messages are the sum of what became of them.
{%- set passed = passed_before() %}

with

-- What silver has committed to have read.
messages as (

    select
        topic,
        partition,
        count(distinct offset) as messages
    from {{ source('bronze', 'messages') }}
    where _metadata.row_commit_version > {{ passed }} and _metadata.row_commit_version <= {{ version_read_by_silver() }}
    group by topic, partition

),

results as (

    select
        topic,
        partition,
        -- The first row of a message may be erased.
        count(distinct offset) as messages,
        count(distinct if(kind = 'row_change', offset, null)) as row_change_messages,
        count_if(kind <> 'row_change') as other_messages
    from {{ ref('events') }}
    where bronze_version > {{ passed }}
    group by topic, partition

)

select
    accounting.topic,
    accounting.partition,
    accounting.messages,
    messages.messages as read,
    results.messages as processed
from {{ ref('message_accounting') }} as accounting
left join messages
    on accounting.topic = messages.topic and accounting.partition = messages.partition
full outer join results
    on accounting.topic = results.topic and accounting.partition = results.partition
where
    coalesce(accounting.messages, 0) < coalesce(results.messages, 0)
    or accounting.row_changes <> accounting.snapshots + accounting.inserts + accounting.updates + accounting.deletes
    or results.messages <> results.row_change_messages + results.other_messages
    -- Of all messages; some that came since may have been delivered before.
    or (
        {{ passed }} < 0
        and (
            coalesce(results.messages, 0) < coalesce(messages.messages, 0)
            or results.other_messages <> accounting.truncates + accounting.schema_changes + accounting.heartbeats
            + accounting.transaction_markers + accounting.controls + accounting.rejected
        )
    )
