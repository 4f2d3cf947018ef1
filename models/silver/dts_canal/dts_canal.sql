with

messages as (

    {{ json_messages(ref('messages'), 'dts_canal', canal_fields(), statement='sql') }}

),

-- A deleted row is in `data`; tasks from before 2022-03-20 write it into `old`.
rows as (

    {{ canal_rows('messages', full_load='INIT', image_field=field_of_rows('data')) }}

),

canonical as (

    select
        *,
        {{ canonical_mysql_image('image.new', 'types', 'time_zone') }} as row_image,
        {{ canonical_mysql_image('image.old', 'types', 'time_zone') }} as old_image
    from rows

),

compared as (

    select
        *,
        {{ looks_whole('row_image', 'old_image', 'types') }} as looks_whole
    from canonical

),

changes as (

    select
        *,
        {{ canal_change(full_load='INIT') }},
        {{ canal_images('row_image', 'old_image', 'looks_whole') }},
        case
            when id is not null then {{ sequence(['id', 'row_number']) }}
            else {{ sequence(["coalesce(nullif(es, '-1'), '0')", 'partition', 'offset', 'row_number']) }}
        end as sequence
    from compared

)

{{ outcomes('changes', without=['schema_name', 'source_type', 'transaction_row']) }}
