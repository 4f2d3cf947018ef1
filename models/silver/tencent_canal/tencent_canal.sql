with

messages as (

    {{ json_messages(ref('messages'), 'tencent_canal', canal_fields(), statement='sql') }}

),

checked as (

    {{ tencent_checked('messages') }}

),

-- The vendor does not say which of the two has a deleted row.
rows as (

    {{ canal_rows('checked', full_load='INIT') }}

),

canonical as (

    select
        *,
        {{ canonical_tencent_image('image.new', 'types') }} as row_image,
        {{ canonical_tencent_image('image.old', 'types') }} as old_image
    from rows

),

completed as (

    {{ canal_images('canonical') }}

),

described as (

    {{ canal_changes('completed', full_load='INIT') }}

),

changes as (

    select
        *,
        -- The vendor vouches that `id` tells the order, but not that no two messages share one: the delivery decides among those.
        {{ sequence(['id', 'partition', 'offset', 'row_number']) }} as sequence
    from described

)

{{ result_rows(
    'changes',
    has=['row_number', 'key_columns', 'column_types', 'ddl', 'dropped_tables', 'committed_at', 'produced_at', 'transaction_id']
) }}
