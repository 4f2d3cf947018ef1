-- Conservation: of every topic and partition, the messages are the sum of what became of them.
with

outcomes as (

    select
        topic,
        partition,
        -- The first row of a message may be erased.
        count(distinct offset) as messages,
        count(distinct if(kind = 'row_change', offset, null)) as row_change_messages
    from {{ ref('events') }}
    group by topic, partition

)

select
    accounting.topic,
    accounting.partition,
    accounting.messages,
    outcomes.messages as settled
from {{ ref('message_accounting') }} as accounting
inner join outcomes
    on accounting.topic = outcomes.topic and accounting.partition = outcomes.partition
where
    accounting.messages < outcomes.messages
    or accounting.row_changes <> accounting.snapshots + accounting.inserts + accounting.updates + accounting.deletes
    or outcomes.messages <> outcomes.row_change_messages + accounting.truncates + accounting.schema_changes
    + accounting.heartbeats + accounting.transaction_markers + accounting.controls + accounting.rejected
