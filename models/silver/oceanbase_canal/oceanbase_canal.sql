with

messages as (

    {{ json_messages(ref('messages'), 'oceanbase_canal', canal_fields(), statement='sql') }}

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

completed as (

    {{ canal_images('canonical') }}

),

described as (

    {{ canal_changes('completed') }}

),

changes as (

    select
        *,
        -- `id` is the number of a batch, which its messages share and which begins again: the delivery decides among them.
        {{ sequence(["coalesce(nullif(es, '-1'), '0')", "coalesce(id, '0')", 'partition', 'offset', 'row_number']) }} as sequence
    from described

)

{{ outcomes(
    'changes',
    has=['row_number', 'key_columns', 'column_types', 'ddl', 'dropped_tables', 'committed_at', 'produced_at', 'transaction_id']
) }}
