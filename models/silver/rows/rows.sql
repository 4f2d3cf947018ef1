with

-- A null value is a delete of the row that its key names.
keyed as (

    select
        * except (value),
        value is null as is_tombstone,
        coalesce(value, {{ key_document('message_key', 'route_key') }}) as value
    from {{ ref('messages') }}

),

messages as (

    {{ json_messages('keyed', 'rows', fields='schema map<string, string>, payload map<string, string> comment "or the document"') }}

),

read as (

    select
        *,
        json.payload as sent,
        map_filter(sent, (name, text) -> not name <=> operation_column) as image,
        {{ place_of_row('sent[sequence_column]', 'time_zone') }} as place,
        missing_columns <=> 'null' as is_whole,
        case
            when is_tombstone then 'delete'
            when operation_column is null then 'upsert'
            else lower(sent[operation_column])
        end as word,
        -- Gold keeps in an update what the row lacks. Where that is null, the message has to begin the row, as an insert does.
        case
            when word in ('r', 'read', 'snapshot') then 'snapshot'
            when word in ('c', 'i', 'insert', '+i') then 'insert'
            when word in ('u', 'update', 'upsert', '+u', 'update_after') then if(is_whole, 'insert', 'update')
            when word in ('d', 'delete', '-d') or (is_whole and word in ('-u', 'update_before')) then 'delete'
        end as operation
    from messages

),

checked as (

    select
        *,
        coalesce(
            route_problem,
            if(json_problem is null, null, struct(json_problem.code, if(is_tombstone, 'key: ', '') || json_problem.detail as detail)),
            case
                when json.schema is not null and not is_tombstone
                    then {{ problem('wrong_type', "'a schema beside the row: turn schemas.enable off, or use debezium_flat_json'") }}
            end,
            {{ incomplete_route('image') }},
            case
                when operation is null and word in ('-u', 'update_before')
                    then {{ problem('unknown_operation', "word || ' takes a whole row: give missing_columns = null in seeds/topics.csv'") }}
                when operation is null
                    then {{ problem('unknown_operation', "operation_column || ' is ' || coalesce(sent[operation_column], 'missing')") }}
                when coalesce(size(image), 0) = 0 and is_tombstone
                    then {{ problem('missing_image', "'a null value whose key names no row; a plain key needs key in seeds/topics.csv'") }}
                when coalesce(size(image), 0) = 0 then {{ problem('missing_image', "'a row without columns'") }}
                when sequence_column is not null and is_tombstone
                    then {{ problem('wrong_type', "'a null value has no ' || sequence_column || ': its place is not known'") }}
                when sequence_column is not null and place is null
                    then {{ problem(
                        'wrong_type',
                        "sequence_column || ' is ' || coalesce(sent[sequence_column], 'missing') || ', no whole number, no date and time'"
                    ) }}
            end
        ) as problem
    from read

),

-- Rows may share a place: a row and its delete, or two changes in one second. Then the delivery decides.
changes as (

    select
        *,
        'row_change' as kind,
        route_database as database_name,
        route_schema as schema_name,
        route_table as table_name,
        route_key as key_columns,
        if(operation = 'delete', image, null) as before,
        if(operation = 'delete', null, image) as after,
        if(operation = 'delete', is_whole and not is_tombstone, null) as before_is_complete,
        if(operation = 'delete', null, is_whole) as after_is_complete,
        concat_ws('.', place, {{ sequence(['partition', 'offset']) }}) as sequence
    from checked

)

{{ result_rows('changes', has=['schema_name', 'key_columns']) }}
