with

messages as (

    {{ json_messages(ref('messages'), 'oms_canal', canal_fields(), statement='sql') }}

),

rows as (

    {{ canal_rows('messages', full_load='ROW') }}

),

canonical as (

    select
        *,
        {{ canonical_oms_image('image.new', 'types') }} as row_image,
        {{ canonical_oms_image('image.old', 'types') }} as old_image
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
        {{ canal_change(full_load='ROW') }},
        {{ canal_images('row_image', 'old_image', 'looks_whole') }},
        -- The format has no position: the commit time, then the delivery.
        {{ sequence(["coalesce(nullif(es, '-1'), '0')", 'partition', 'offset', 'row_number']) }} as sequence
    from compared

)

{{ outcomes('changes', without=['schema_name', 'source_type', 'transaction_id', 'transaction_row']) }}
