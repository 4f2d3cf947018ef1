with

messages as (

    {{ json_messages(
        ref('messages'), 'goldengate_json',
        'table string, op_type string, op_ts string, current_ts string, pos string, xid string, primary_keys array<string>,
        before map<string, string>, after map<string, string>'
    ) }}

),

opened as (

    select
        messages.*,
        parts.*
    from messages
        lateral view inline(array(struct(
            json.op_type, json.op_ts, json.current_ts, regexp_replace(nullif(json.pos, ''), '^0+(?=[0-9])', ''), json.xid,
            coalesce(route_key, nullif(json.primary_keys, array())),
            {{ goldengate_image('json.before') }}, {{ goldengate_image('json.after') }},
            size(map_filter(json.after, (name, text) -> endswith(name, '_isMissing') and text = 'true')) > 0,
            transform(reverse(split(json.table, r'\.', 3)), name -> nullif(name, ''))
        ))) parts
        as op_type, op_ts, current_ts, pos, xid, keys, sent_before, sent_after, lacks_columns, names

),

read as (

    select
        *,
        case
            when value is null then 'control'
            when op_type in ('I', 'U', 'D') then 'row_change'
            when op_type = 'T' then 'truncate'
        end as kind,
        case op_type when 'I' then 'insert' when 'U' then 'update' when 'D' then 'delete' end as operation,
        coalesce(route_database, get(names, 2), get(names, 1)) as source_database,
        if(coalesce(route_database, get(names, 2)) is null, null, get(names, 1)) as owner,
        get(names, 0) as source_table,
        if(op_type = 'D', sent_before, sent_after) as row_image,
        {{ columns_of_row('keys', 'map_keys(coalesce(sent_before, map()))') }} as keys_before,
        -- What the new row may lack: a part of the key is as it was; the rest is null where nulls are left out.
        map_filter(
            transform_values(coalesce(sent_before, map()), (name, text) -> if(array_contains(keys_before, name), text, null)),
            (name, text) -> text is not null or coalesce(missing_columns, '') = 'null'
        ) as not_sent,
        {{ iso_to_timestamp('op_ts', 'time_zone') }} as committed_at,
        {{ iso_to_timestamp('current_ts', 'time_zone') }} as produced_at
    from opened

),

checked as (

    select
        *,
        if(value is null, null, coalesce(
            route_problem,
            json_problem,
            case when kind is null then {{ problem('unknown_operation', "'op_type is ' || coalesce(op_type, 'missing')") }} end,
            {{ incomplete_change('op_type', statement='op_type') }},
            case
                when kind = 'row_change' and coalesce(size(row_image), 0) = 0
                    then {{ problem('missing_image', "op_type || ' without columns in ' || if(op_type = 'D', 'before', 'after')") }}
            end,
            {{ position_problem('pos', 'pos') }},
            case
                when op_ts is not null and committed_at is null then {{ problem('wrong_type', "'op_ts is ' || op_ts") }}
                when current_ts is not null and produced_at is null then {{ problem('wrong_type', "'current_ts is ' || current_ts") }}
            end
        )) as problem
    from read

),

changes as (

    select
        *,
        source_database as database_name,
        owner as schema_name,
        source_table as table_name,
        keys as key_columns,
        if(op_type in ('U', 'D') and size(sent_before) > 0, sent_before, null) as before,
        case op_type when 'I' then row_image when 'U' then {{ laid_over('row_image', 'not_sent') }} end as after,
        if(op_type in ('U', 'D') and size(sent_before) > 0, false, null) as before_is_complete,
        if(op_type = 'D', null, coalesce(missing_columns = 'null', op_type = 'I') and not lacks_columns) as after_is_complete,
        xid as transaction_id,
        -- The place in the trail, else the delivery.
        case
            when pos is not null then {{ sequence(['pos', "'0'", "'0'"]) }}
            else {{ sequence(["greatest(coalesce(unix_micros(committed_at), 0), 0)", 'partition', 'offset']) }}
        end as sequence
    from checked

)

{{ result_rows('changes', has=['schema_name', 'key_columns', 'committed_at', 'produced_at', 'transaction_id']) }}
