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

completed as (

    {{ canal_images('canonical') }}

),

described as (

    {{ canal_changes('completed', full_load='ROW') }}

),

changes as (

    select
        *,
        -- The format has no position: the commit time, then the delivery.
        {{ sequence(["coalesce(nullif(es, '-1'), '0')", 'partition', 'offset', 'row_number']) }} as sequence
    from described

)

{{ result_rows(
    'changes',
    has=['row_number', 'key_columns', 'column_types', 'ddl', 'dropped_tables', 'committed_at', 'produced_at']
) }}
