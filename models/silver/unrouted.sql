with

messages as (

    select * from {{ ref('messages') }}
    where format not in ('full_extract', '{{ formats() | join("', '") }}')

)

select
    topic,
    partition,
    offset,
    0 as row_number,
    format,
    'rejected' as kind,
    cast(null as string) as operation,
    cast(null as string) as database_name,
    cast(null as string) as schema_name,
    cast(null as string) as table_name,
    cast(null as array<string>) as key_columns,
    cast(null as map<string, string>) as before,
    cast(null as map<string, string>) as after,
    cast(null as boolean) as before_is_complete,
    cast(null as boolean) as after_is_complete,
    cast(null as map<string, string>) as column_types,
    cast(null as string) as source_type,
    cast(null as string) as ddl,
    cast(null as array<struct<database_name: string, schema_name: string, table_name: string>>) as dropped_tables,
    cast(null as timestamp) as committed_at,
    cast(null as timestamp) as produced_at,
    ingested_at,
    cast(null as string) as sequence,
    cast(null as string) as transaction_id,
    cast(null as bigint) as transaction_row,
    if(format = 'unrouted', 'unrouted_topic', 'unknown_format') as reject_reason,
    if(
        format = 'unrouted',
        'seeds/topics.csv has no line for topic ' || left(topic, 900),
        'seeds/topics.csv gives topic ' || left(topic, 900) || ' the format ' || format || ', which macros/formats.sql does not name'
    ) as reject_detail,
    bronze_version
from messages
