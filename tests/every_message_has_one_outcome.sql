-- Conservation: of each commit of bronze up to the one that silver has committed to have read, every identity has an
-- outcome, and one only.
{%- set passed = passed_before() %}

with

messages as (

    select
        topic,
        partition,
        offset,
        min(_metadata.row_commit_version) as bronze_version
    from {{ source('bronze', 'messages') }}
    where _metadata.row_commit_version > {{ passed }}
    group by topic, partition, offset

),

outcomes as (

    select
        topic,
        partition,
        offset,
        count(distinct kind) as kinds,
        count(*) as row_count,
        count(distinct row_number) as row_numbers,
        min(row_number) as first_row,
        max(row_number) as last_row,
        max(bronze_version) as bronze_version
    from {{ ref('events') }}
    where bronze_version > {{ passed }}
    group by topic, partition, offset

),

without_outcome as (

    select messages.*
    from messages
    left anti join outcomes
        on
            messages.topic = outcomes.topic
            and messages.partition = outcomes.partition
            and messages.offset = outcomes.offset
    where messages.bronze_version <= {{ version_read_by_silver() }}

),

-- A message that was delivered before has had its outcome since then.
settled_before as (

    select /*+ broadcast(without_outcome) */ distinct
        events.topic,
        events.partition,
        events.offset
    from {{ ref('events') }} as events
    inner join without_outcome
        on
            events.topic = without_outcome.topic
            and events.partition = without_outcome.partition
            and events.offset = without_outcome.offset
    where events.bronze_version <= {{ passed }}

),

-- Messages that bronze no longer holds keep their outcomes, but for the rows that were erased.
removed as (

    select distinct
        outcomes.topic,
        outcomes.partition,
        outcomes.offset
    from outcomes
    inner join {{ source('bronze', 'removed_messages') }} as runs
        on
            outcomes.topic = runs.topic
            and outcomes.partition = runs.partition
            and outcomes.offset between runs.first_offset and runs.last_offset

)

select
    coalesce(messages.topic, outcomes.topic) as topic,
    coalesce(messages.partition, outcomes.partition) as partition,
    coalesce(messages.offset, outcomes.offset) as offset,
    case
        when messages.topic is null then 'an outcome without a message'
        when outcomes.topic is null then 'a message without an outcome'
        when outcomes.kinds > 1 then 'more than one kind'
        else 'row numbers are not dense'
    end as problem
from messages
full outer join outcomes
    on
        messages.topic = outcomes.topic
        and messages.partition = outcomes.partition
        and messages.offset = outcomes.offset
left join removed
    on
        outcomes.topic = removed.topic
        and outcomes.partition = removed.partition
        and outcomes.offset = removed.offset
left join settled_before
    on
        messages.topic = settled_before.topic
        and messages.partition = settled_before.partition
        and messages.offset = settled_before.offset
where
    (messages.topic is null and removed.topic is null)
    or (
        outcomes.topic is null
        and settled_before.topic is null
        and messages.bronze_version <= {{ version_read_by_silver() }}
    )
    or outcomes.kinds > 1
    or outcomes.row_count <> outcomes.row_numbers
    or (removed.topic is null and (outcomes.first_row <> 0 or outcomes.last_row <> outcomes.row_count - 1))
