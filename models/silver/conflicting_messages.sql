{{ config(materialized='view') }}

with

messages as (

    select * from {{ source('bronze', 'messages') }}

),

repeated as (

    select
        topic,
        partition,
        offset
    from messages
    group by topic, partition, offset
    having count(*) > 1

)

select
    messages.topic,
    messages.partition,
    messages.offset,
    count(*) as deliveries,
    count(distinct struct(messages.key, messages.value)) as contents
from messages
inner join repeated
    on
        messages.topic = repeated.topic
        and messages.partition = repeated.partition
        and messages.offset = repeated.offset
group by messages.topic, messages.partition, messages.offset
having count(distinct struct(messages.key, messages.value)) > 1
