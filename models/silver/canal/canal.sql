with

messages as (

    {{ json_messages(ref('messages'), 'canal', canal_fields(), statement='sql') }}

),

rows as (

    {{ canal_rows('messages') }}

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
        {{ canal_change() }},
        {{ canal_images('row_image', 'old_image', 'looks_whole') }},
        -- `id` is the number of a batch, which its messages share and which begins again: the delivery decides among them.
        {{ sequence(["coalesce(nullif(es, '-1'), '0')", "coalesce(id, '0')", 'partition', 'offset', 'row_number']) }} as sequence
    from compared

)

{{ outcomes('changes', without=['schema_name', 'source_type', 'transaction_row']) }}
