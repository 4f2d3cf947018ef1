with

messages as (

    select * from {{ new_rows_of(source('bronze', 'messages')) }}

),

-- The lines of seeds/topics.csv as one row, so that a glob costs a look at a short list and no join per topic.
lines as (

    select
        from_json(
            {{ text_literal(adapter.silver.routes()) }},
            'by_topic map<string, struct<
                time_zone string, avro_schema string, delete_image string, database string, table string, key array<string>,
                topic_pattern string, in_topic struct<database string, schema string, table string>,
                operation_column string, sequence_column string, missing_columns string
            >>,
            globs array<struct<topic string, pattern string>>'
        ) as routes

),

routes as (

    select
        routes.globs,
        transform_values(
            routes.by_topic,
            (topic, line) -> struct(
                line,
                line.time_zone is null
                or try_to_timestamp('2000-01-01 00 ' || line.time_zone, 'yyyy-MM-dd HH VV') is not null as is_known_zone
            )
        ) as by_topic
    from lines

),

routed as (

    select
        messages.*,
        try_element_at(
            routes.by_topic,
            if(
                map_contains_key(routes.by_topic, messages.topic),
                messages.topic,
                try_element_at(filter(routes.globs, glob -> messages.topic rlike glob.pattern), 1).topic
            )
        ) as route,
        coalesce(octet_length(messages.value) > {{ var('max_message_bytes') }}, false) as is_too_large
    from messages
    cross join routes

),

checked as (

    select
        * except (route),
        route.line,
        coalesce(route.is_known_zone, true) as is_known_zone
    from routed

)

select
    topic,
    partition,
    offset,
    format,
    key as message_key,
    -- Nothing may read it: the copies that reading makes would not fit in memory.
    if(is_too_large, X'', value) as value,
    ingested_at,
    bronze_version,
    if(is_known_zone, coalesce(line.time_zone, 'UTC'), 'UTC') as time_zone,
    line.avro_schema,
    line.delete_image,
    coalesce(line.database, nullif(regexp_extract(topic, line.in_topic.database, 1), '')) as route_database,
    nullif(regexp_extract(topic, line.in_topic.schema, 1), '') as route_schema,
    coalesce(line.table, nullif(regexp_extract(topic, line.in_topic.table, 1), '')) as route_table,
    line.key as route_key,
    line.operation_column,
    line.sequence_column,
    line.missing_columns,
    case
        when is_too_large
            then {{ problem(
                'too_large',
                "'the value has ' || octet_length(value) || ' bytes, more than max_message_bytes of dbt_project.yml, " ~ var('max_message_bytes') ~ "'"
            ) }}
        when not is_known_zone
            then {{ problem('unknown_time_zone', "'seeds/topics.csv gives topic ' || topic || ' the time zone ' || line.time_zone") }}
        when line.delete_image not in ('data', 'old')
            then {{ problem(
                'unknown_delete_image',
                "'seeds/topics.csv gives topic ' || topic || ' the delete_image ' || line.delete_image || ': it is data or old'"
            ) }}
    end as route_problem
from checked
