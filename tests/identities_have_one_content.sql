-- The same topic, partition and offset with other bytes: the second landing was not merged. See silver.conflicting_messages.
{{ config(severity='warn', meta={'look_at': 'silver.conflicting_messages'}) }}

{%- set passed = passed_before() %}

with

delivered as (

    select
        topic,
        partition,
        offset,
        count(*) as deliveries
    from {{ source('bronze', 'messages') }}
    where _metadata.row_commit_version > {{ passed }} and _metadata.row_commit_version <= {{ version_read_by_silver() }}
    group by topic, partition, offset

),

results as (

    select
        topic,
        partition,
        offset
    from {{ ref('events') }}
    where bronze_version > {{ passed }}

),

-- What was delivered before has no result of its own.
delivered_again as (

    select
        delivered.topic,
        delivered.partition,
        delivered.offset
    from delivered
    left anti join results
        on
            delivered.topic = results.topic
            and delivered.partition = results.partition
            and delivered.offset = results.offset
    union
    select
        topic,
        partition,
        offset
    from delivered
    where deliveries > 1

)

select /*+ broadcast(delivered_again) */
    messages.topic,
    messages.partition,
    messages.offset,
    count(*) as deliveries,
    count(distinct struct(messages.key, messages.value)) as contents
from {{ source('bronze', 'messages') }} as messages
inner join delivered_again
    on
        messages.topic = delivered_again.topic
        and messages.partition = delivered_again.partition
        and messages.offset = delivered_again.offset
group by messages.topic, messages.partition, messages.offset
having count(distinct struct(messages.key, messages.value)) > 1
