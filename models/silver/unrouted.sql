with

messages as (

    select * from {{ ref('messages') }}
    where format not in ('full_extract', '{{ formats() | join("', '") }}')

),

unread as (

    select
        *,
        cast(null as string) as kind,
        cast(null as string) as operation,
        cast(null as string) as database_name,
        cast(null as string) as table_name,
        cast(null as string) as sequence,
        cast(null as map<string, string>) as before,
        cast(null as map<string, string>) as after,
        cast(null as boolean) as before_is_complete,
        cast(null as boolean) as after_is_complete,
        if(
            format = 'unrouted',
            {{ problem('unrouted_topic', "'seeds/topics.csv has no line for topic ' || left(topic, 900)") }},
            {{ problem('unknown_format', "'seeds/topics.csv gives topic ' || left(topic, 900) || ' the format ' || format || "
                ~ "', which macros/formats.sql does not name'") }}
        ) as problem
    from messages

)

{{ result_rows('unread', has=[]) }}
