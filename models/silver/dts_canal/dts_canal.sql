with

messages as (

    {{ json_messages(ref('messages'), 'dts_canal', canal_fields(), statement='sql') }}

),

-- A deleted row is in `data`; tasks from before 2022-03-20 write it into `old`.
rows as (

    {{ canal_rows('messages', full_load='INIT') }}

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

    {{ canal_changes('completed', full_load='INIT') }}

),

changes as (

    select
        *,
        {{ canal_sequence('id', 'es', ['partition', 'offset'], 'row_number') }} as sequence
    from described

)

{{ result_rows(
    'changes',
    has=['row_number', 'key_columns', 'column_types', 'ddl', 'dropped_tables', 'committed_at', 'produced_at', 'transaction_id']
) }}
