with

messages as (

    select * from {{ ref('messages') }}
    where format = 'oceanbase_avro'

),

new_shards as (

    select
        *,
        oceanbase_shard(value, avro_schema) as shard
    from messages
    where oceanbase_shard(value, avro_schema) is not null

),

wanted_records as (

    select distinct
        topic,
        avro_schema,
        {{ sequence(['shard.id']) }} as sequence
    from new_shards

),

-- The siblings that came with earlier runs.
old_shards as (

    select
        earlier_shards.topic,
        earlier_shards.partition,
        earlier_shards.offset,
        earlier_shards.value,
        earlier_shards.bronze_version,
        earlier_shards.kind,
        oceanbase_shard(earlier_shards.value, wanted_records.avro_schema) as shard
    from wanted_records
    inner join {{ ref('earlier_shards') }} as earlier_shards
        on wanted_records.topic = earlier_shards.topic and wanted_records.sequence = earlier_shards.sequence

),

shards as (

    select
        topic,
        shard,
        false as is_old,
        false as is_part_of_a_change,
        bronze_version,
        partition,
        offset,
        value,
        struct(format, ingested_at, avro_schema, route_database, route_problem) as message
    from new_shards
    union all
    select
        topic,
        shard,
        true as is_old,
        kind <> 'control' as is_part_of_a_change,
        bronze_version,
        partition,
        offset,
        value,
        null as message
    from old_shards

),

-- Copies of a shard do not count; the last one that was missing completes the record.
numbered as (

    select
        *,
        row_number() over (
            partition by topic, shard.id, shard.total, shard.index
            order by not is_old, bronze_version, partition, offset
        ) = 1 as is_first_copy
    from shards

),

counted as (

    select
        *,
        count_if(is_first_copy) over (
            partition by topic, shard.id, shard.total
            order by not is_old, bronze_version, partition, offset
        ) as parts
    from numbered

),

records as (

    select
        topic,
        bool_or(is_part_of_a_change) as is_changed,
        collect_list(struct(*)) as shards
    from counted
    group by topic, shard.id, shard.total

),

delivered as (

    select
        topic,
        inline(transform(
            filter(shards, shard -> not shard.is_old),
            shard -> struct(
                shard.partition,
                shard.offset,
                shard.bronze_version,
                shard.message,
                shard.value,
                if(
                    shard.is_first_copy and shard.parts = shard.shard.total and not is_changed,
                    transform(
                        array_sort(filter(shards, part -> part.is_first_copy), (one, other) -> one.shard.index - other.shard.index),
                        part -> part.value
                    ),
                    null
                ) as parts
            )
        )) as (partition, offset, bronze_version, message, value, parts)
    from records

)

select
    topic,
    partition,
    offset,
    message.*,
    value,
    bronze_version,
    parts is null as is_waiting,
    if(
        parts is null,
        decode_oceanbase_avro(value, message.avro_schema),
        assemble_oceanbase_avro(parts, message.avro_schema)
    ) as record
from delivered
