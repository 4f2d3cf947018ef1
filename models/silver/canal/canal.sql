with

messages as (

    {{ json_messages(ref('messages'), ['canal', 'oceanbase_canal'], canal_fields(), statement='sql') }}

),

rows as (

    {{ canal_rows('messages') }}

),

canonical as (

    select
        *,
        {{ canonical_mysql_image('image.new', 'types', 'time_zone') }} as row_image,
        {{ canonical_mysql_image('image.old', 'types', 'time_zone') }} as old_image,
        coalesce(type = 'UPDATE' and missing_columns = 'null', false) as is_without_nulls
    from rows

),

completed as (

    {{ canal_images('canonical') }}

),

described as (

    {{ canal_changes('completed') }}

),

-- Other writers of Canal JSON name no key; or they leave out what is null, and have the whole row in `old`.
changes as (

    select
        * except (key_columns, before, after),
        if(size(key_columns) > 0, key_columns, route_key) as key_columns,
        if(is_without_nulls, {{ null_where_absent('old_image', 'row_image') }}, before) as before,
        if(is_without_nulls, {{ null_where_absent('row_image', 'old_image') }}, after) as after,
        -- `id` is the number of a batch, which its messages share and which begins again: the delivery decides among them.
        {{ sequence(["coalesce(nullif(es, '-1'), '0')", "coalesce(id, '0')", 'partition', 'offset', 'row_number']) }} as sequence
    from described

)

{{ result_rows(
    'changes',
    has=['row_number', 'key_columns', 'column_types', 'ddl', 'dropped_tables', 'committed_at', 'produced_at', 'transaction_id']
) }}
