with

messages as (

    {{ json_messages(
        ref('messages'), 'tidb_canal', statement='sql', claim='_tidb.claimCheckLocation',
        fields=canal_fields() ~ ', _tidb struct<commitTs string comment "a number", onlyHandleKey string comment "a boolean">'
    ) }}

),

checked as (

    select
        * except (json_problem),
        coalesce(json_problem, {{ tso_problem('commitTs', 'json._tidb.committs') }}) as json_problem
    from messages

),

rows as (

    {{ canal_rows('checked', heartbeat='TIDB_WATERMARK') }}

),

canonical as (

    select
        *,
        {{ canonical_mysql_image('image.new', 'types', 'time_zone') }} as row_image,
        {{ canonical_mysql_image('image.old', 'types', 'time_zone') }} as old_image,
        not coalesce(_tidb.onlyhandlekey = 'true', false) as is_whole
    from rows

),

described as (

    {{ canal_changes('canonical') }}

),

keyed as (

    select
        * except (key_columns, transaction_id),
        -- TiCDC names the primary key alone, no unique key in its place.
        coalesce(route_key, nullif(key_columns, array())) as key_columns,
        _tidb.committs as transaction_id
    from described

),

changes as (

    select
        *,
        case
            when operation = 'delete' then row_image
            -- With only-output-updated-columns, `old` lacks what has not changed.
            when operation = 'update' then {{ laid_over('old_image', 'row_image') }}
        end as before,
        if(operation = 'delete', null, row_image) as after,
        -- delete-only-output-handle-key-columns leaves no mark in a message.
        case
            when operation = 'delete' then false
            when operation = 'update' and old_image is not null then is_whole
        end as before_is_complete,
        if(operation = 'delete', null, is_whole) as after_is_complete,
        'tidb' as source_type,
        {{ ticdc_sequence(
            'transaction_id', 'es', 'operation', 'is_whole', ticdc_row('image.new', 'key_columns'), ['partition', 'offset', 'row_number']
        ) }} as sequence
    from keyed

)

{{ result_rows(
    'changes',
    has=['row_number', 'key_columns', 'column_types', 'source_type', 'ddl', 'dropped_tables', 'committed_at', 'produced_at', 'transaction_id']
) }}
