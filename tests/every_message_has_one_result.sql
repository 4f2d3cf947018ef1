-- Conservation: of each commit of bronze up to the one that silver has committed to have read, every identity has an
-- result, and one only.
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

results as (

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

without_result as (

    select messages.*
    from messages
    left anti join results
        on
            messages.topic = results.topic
            and messages.partition = results.partition
            and messages.offset = results.offset
    where messages.bronze_version <= {{ version_read_by_silver() }}

),

-- A message that was delivered before has had its result since then.
processed_before as (

    select /*+ broadcast(without_result) */ distinct
        events.topic,
        events.partition,
        events.offset
    from {{ ref('events') }} as events
    inner join without_result
        on
            events.topic = without_result.topic
            and events.partition = without_result.partition
            and events.offset = without_result.offset
    where events.bronze_version <= {{ passed }}

),

-- Messages that bronze no longer holds keep their results, but for the rows that were erased.
removed as (

    select distinct
        results.topic,
        results.partition,
        results.offset
    from results
    inner join {{ source('bronze', 'removed_messages') }} as runs
        on
            results.topic = runs.topic
            and results.partition = runs.partition
            and results.offset between runs.first_offset and runs.last_offset

)

select
    coalesce(messages.topic, results.topic) as topic,
    coalesce(messages.partition, results.partition) as partition,
    coalesce(messages.offset, results.offset) as offset,
    case
        when messages.topic is null then 'a result without a message'
        when results.topic is null then 'a message without a result'
        when results.kinds > 1 then 'more than one kind'
        else 'row numbers are not dense'
    end as problem
from messages
full outer join results
    on
        messages.topic = results.topic
        and messages.partition = results.partition
        and messages.offset = results.offset
left join removed
    on
        results.topic = removed.topic
        and results.partition = removed.partition
        and results.offset = removed.offset
left join processed_before
    on
        messages.topic = processed_before.topic
        and messages.partition = processed_before.partition
        and messages.offset = processed_before.offset
where
    (messages.topic is null and removed.topic is null)
    or (
        results.topic is null
        and processed_before.topic is null
        and messages.bronze_version <= {{ version_read_by_silver() }}
    )
    or results.kinds > 1
    or results.row_count <> results.row_numbers
    or (removed.topic is null and (results.first_row <> 0 or results.last_row <> results.row_count - 1))
