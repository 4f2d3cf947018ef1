with

messages as (

    select * from {{ new_rows_of(source('bronze', 'messages')) }}

),

-- The routes as one row, so that a glob costs a look at a short list and no join per topic.
routes_by_topic as (

    select
        topic,
        max(
            struct(
                format,
                time_zone,
                avro_schema,
                delete_image,
                database,
                time_zone is null
                or try_to_timestamp('2000-01-01 00 ' || time_zone, 'yyyy-MM-dd HH VV') is not null as is_known_zone
            )
        ) as route
    from {{ ref('topics') }}
    where topic is not null
    group by topic

),

routes as (

    select
        map_from_entries(collect_list(struct(topic, route))) as by_topic,
        sort_array(
            collect_list(
                if(
                    contains(topic, '*'),
                    struct(
                        -- The most literal characters first, then the alphabet: as `lakehouse ingest` does.
                        -length(replace(topic, '*', '')) as precision,
                        topic,
                        r'(?s)^\Q' || replace(replace(topic, r'\E', r'\E\\E\Q'), '*', r'\E.*\Q') || r'\E\z' as pattern,
                        route
                    ),
                    null
                )
            )
        ) as globs
    from routes_by_topic

),

routed as (

    select
        messages.*,
        coalesce(
            try_element_at(routes.by_topic, messages.topic),
            try_element_at(filter(routes.globs, glob -> messages.topic rlike glob.pattern), 1).route
        ) as route,
        coalesce(octet_length(messages.value) > {{ var('max_message_bytes') }}, false) as is_too_large
    from messages
    cross join routes

),

checked as (

    select
        *,
        coalesce(route.is_known_zone, true) as is_known_zone
    from routed

)

select
    topic,
    partition,
    offset,
    format,
    -- Nothing may read it: the copies that reading makes would not fit in memory.
    if(is_too_large, X'', value) as value,
    ingested_at,
    bronze_version,
    if(is_known_zone, coalesce(route.time_zone, 'UTC'), 'UTC') as time_zone,
    route.avro_schema,
    route.delete_image,
    route.database as route_database,
    case
        when is_too_large
            then {{ problem(
                'too_large',
                "'the value has ' || octet_length(value) || ' bytes, more than max_message_bytes of dbt_project.yml, " ~ var('max_message_bytes') ~ "'"
            ) }}
        when not is_known_zone
            then {{ problem('unknown_time_zone', "'seeds/topics.csv gives topic ' || topic || ' the time zone ' || route.time_zone") }}
        when route.delete_image not in ('data', 'old')
            then {{ problem(
                'unknown_delete_image',
                "'seeds/topics.csv gives topic ' || topic || ' the delete_image ' || route.delete_image || ': it is data or old'"
            ) }}
    end as route_problem
from checked
