with

messages as (

    {{ json_messages(
        ref('messages'), 'flink_changelog',
        fields='data map<string, string> comment "or a list of one", old map<string, string> comment "or a list of one",
            before map<string, string>, after map<string, string>,
            op string, type string, op_type string, source map<string, string>, database string, table string'
    ) }}

),

-- Flink's formats write the before/after pair of an update as a delete and an insert; -U and +U are the same in another word.
read as (

    select
        *,
        coalesce(json.op, json.type, json.op_type) as word,
        case
            when word in ('+I', '+U', 'c', 'INSERT', 'insert', 'I') then 'insert'
            when word in ('-D', '-U', 'd', 'DELETE', 'delete', 'D') then 'delete'
        end as operation,
        if(value is null, 'control', 'row_change') as kind,
        if(operation = 'delete' and delete_image = 'old', null, json.data) as row_in_data,
        coalesce(row_in_data, if(operation = 'delete', coalesce(json.before, json.old), json.after)) as image
    from messages

),

checked as (

    select
        *,
        if(value is null, null, coalesce(
            route_problem,
            json_problem,
            case
                when json.source is not null
                    then {{ problem('wrong_type', "'source, which Flink SQL does not write: use debezium_json'") }}
                when coalesce(json.database, json.table) is not null
                    then {{ problem('wrong_type', "'database or table, which Flink SQL does not write: use canal or maxwell'") }}
                when operation is null
                    then {{ problem('unknown_operation', "'op, type or op_type is ' || coalesce(word, 'missing')") }}
            end,
            {{ incomplete_route('image') }},
            case when coalesce(size(image), 0) = 0 then {{ problem('missing_image', "word || ' without a row'") }} end
        )) as problem
    from read

),

-- Flink writes every column, or leaves out those that are null.
changes as (

    select
        *,
        route_database as database_name,
        route_schema as schema_name,
        route_table as table_name,
        route_key as key_columns,
        if(operation = 'delete', image, null) as before,
        if(operation = 'insert', image, null) as after,
        if(operation = 'delete', true, null) as before_is_complete,
        if(operation = 'insert', true, null) as after_is_complete,
        {{ sequence(['partition', 'offset']) }} as sequence
    from checked

)

{{ result_rows('changes', has=['schema_name', 'key_columns']) }}
