{#-
    An update that changes the primary key and carries some columns only (a partial move): the row under the new key keeps the other
    columns from the row that it replaces. All earlier changes of the old key decide which values those are, and a late one decides
    again. So all keys that partial moves connect with a changed key are followed again through all of silver.

    Returns the changes of a run with those rows completed, `_is_followed` marking the changes of such keys; none without any.
-#}
{% macro followed_changes(table, sql, changes) -%}
    {%- set everything = dict(table, read=none) -%}
    {% do adapter.expect_new_rows(api.Relation.create(schema='silver', identifier='events'), none) %}
    {{ name_query('all_changes', with_keys_of_pairs(
        with_drops(typed_changes(new_changes(sql, everything), everything), everything, sql) if table.read is not none else changes, table
    )) }}
    {%- set marks = adapter.find_moved_keys(moves_of_keys('all_changes', table), keys_of_changes(table)) -%}
    {%- if marks is none -%}
        {{ return(none) }}
    {%- endif -%}
    {{ note_some(table, 'cdc_lakehouse.partial_moves', marks) }}
    {{ stage_rows('changes_of_moved_keys', changes_of_moved_keys('all_changes', table)) }}
    {% do adapter.follow_moves(
        'changes_of_moved_keys', value_columns(table.columns, table.key) | map(attribute='name') | list, operations_on_tables(table.options)
    ) %}
    {{ return(union_of_followed(partial_changes(changes, table), table)) }}
{%- endmacro %}

{#-
    Whether a run has to follow partial moves: there are some among its changes, or the table has had some and says by the marks
    of their keys that the run changes one of these (of too many keys it keeps no marks). A half of an update whose other half
    came in an earlier run may be one.
-#}
{% macro has_partial_moves(table, sql, summary) -%}
    {%- if summary['partial_changes'] == 0 and adapter.table_property(table.storage, 'cdc_lakehouse.partial_rows') == 'none' -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set marks = adapter.table_property(table.storage, 'cdc_lakehouse.partial_moves') -%}
    {%- if marks == 'some' or (marks != 'none' and run_query(changes_of_marked_keys(table, marks)).rows | length > 0) -%}
        {{ return(true) }}
    {%- endif -%}
    {%- set has_pairs = changes_of_model(counted(counts_of_new_changes(table.read, table.last), 'halves'), sql) > 0 -%}
    {%- if not has_pairs and not (summary['partial_changes'] and summary['replaced_rows']) -%}
        {{ return(false) }}
    {%- endif -%}
    {{ return(run_query(
        'select 1 from (' ~ with_keys_of_pairs('select * from new_changes', table) ~ ') where ' ~ is_moved_in_part(table)
        ~ (" or (_operation in ('update', 'delete') and (_removed_key is null or (_is_replaced and _new_key is null)))" if has_pairs else '')
        ~ ' limit 1'
    ).rows | length > 0) }}
{%- endmacro %}

{#- A new change of a key whose mark is among some, or of all keys. -#}
{% macro changes_of_marked_keys(table, marks) -%}
    select 1
    from new_changes
    where _truncated_table is not null or {{ adapter.is_marked(text_of_key(table), marks) }}
    limit 1
{%- endmacro %}

{#-
    Typed changes, and of the change that each belongs to the key whose row it removes and the key whose row it writes. Asked before
    changes are picked by key, for the two may differ.
-#}
{% macro with_keys_of_halves(changes, table) -%}
    {%- set kept_key = 'struct(' ~ key_names(table.key) ~ ')' -%}
    select
        *,
        max(if(_operation = 'delete' and {{ key_is_known(table.key) }}, {{ kept_key }}, null)) over message_row as _removed_key,
        max(if(_operation not in ('delete', 'truncate', 'drop'), {{ kept_key }}, null)) over message_row as _new_key
    from (
        {{ changes }}
    )
    window message_row as (partition by _topic, _partition, _offset, _row_number)
{%- endmacro %}

{#-
    The same across messages: a format may send the two halves of an update as two messages, which share their sequence. A removed
    half without a row in its message belongs to a row without a removed half.
-#}
{% macro with_keys_of_pairs(changes, table) -%}
    select
        * except (_removed_key, _new_key),
        if(
            _removed_key is null and _operation = 'update',
            max(if(_is_replaced and _new_key is null, _removed_key, null)) over pair,
            _removed_key
        ) as _removed_key,
        if(
            _new_key is null and _is_replaced,
            max(if(_removed_key is null and _operation = 'update', _new_key, null)) over pair,
            _new_key
        ) as _new_key
    from (
        {{ with_keys_of_halves(changes, table) }}
    )
    window pair as (partition by _source_table, _sequence)
{%- endmacro %}

{#- Of changes `with_keys_of_halves` whether one is a row under a new key. -#}
{% macro is_moved(table) -%}
    (
        _operation not in ('delete', 'truncate', 'drop') and {{ key_is_known(table.key) }}
        and _removed_key is not null and not _removed_key <=> struct({{ key_names(table.key) }})
    )
{%- endmacro %}

{#- Whether it is one of whose columns its image carries a part. -#}
{% macro is_moved_in_part(table) -%}
    _column_sequences is not null and {{ is_moved(table) }}
{%- endmacro %}

{#- A text that no other key has, of the key's columns behind `prefix`. -#}
{% macro text_of_key(table, prefix='') -%}
    to_json(array(
        {%- for column in table.columns if column.name in table.key %}
        {%- set name = prefix ~ adapter.quote(column.name) %}
        {{ 'base64(' ~ name ~ ')' if column.data_type | lower == 'binary' else 'cast(' ~ name ~ ' as string)' }},
        {%- endfor %}
        cast(null as string)
    ))
{%- endmacro %}

{#- From which key to which rows have moved. -#}
{% macro moves_of_keys(changes, table) -%}
    select distinct {{ text_of_key(table, '_removed_key.') }} as old_key, {{ text_of_key(table) }} as new_key
    from {{ changes }}
    where {{ is_moved_in_part(table) }}
{%- endmacro %}

{#- The keys of a run's changes; null of one that concerns all keys. All keys are new to a table that is built. -#}
{% macro keys_of_changes(table) -%}
    {%- if table.read is none -%}
        select cast(null as string) as key
    {%- else -%}
        select distinct if(_truncated_table is null, {{ text_of_key(table) }}, null) as key from new_changes
    {%- endif -%}
{%- endmacro %}

{#- All changes of the keys that moves connect, each once, and the operations on their tables. -#}
{% macro changes_of_moved_keys(changes, table) -%}
    select *
    from (
        select
            * except (_column_sequences, _removed_key, _new_key),
            {{ text_of_key(table) }} as _key,
            {{ is_moved(table) }} as _is_moved,
            if({{ is_moved_in_part(table) }}, {{ text_of_key(table, '_removed_key.') }}, null) as _moved_from,
            {{ columns_left_alone(table) }} as _column_sequences
        from {{ changes }}
        where {{ is_no_half_of_its_row(table) }}
    )
    where _truncated_table is not null or _key in (select _key from moved_keys)
    qualify row_number() over (
        partition by _key, _truncated_table, _sequence, _fingerprint order by _partition desc, _offset desc, _row_number desc
    ) = 1
{%- endmacro %}

{#- The changes of a run, those of keys that moves connect in place of all that it has of them. -#}
{% macro union_of_followed(changes, table) -%}
    {%- set columns = column_names(table.columns + merge_columns()) -%}
    select {{ columns }}, false as _is_followed
    from (
        {{ changes }}
    ) as changes
    left anti join moved_keys
        on moved_keys._key = {{ text_of_key(table) }}
    union all
    select {{ columns }}, true as _is_followed
    from (
        {{ completed_moves(table) }}
    )
    where _truncated_table is null
{%- endmacro %}

{#-
    The changes of moved keys, moved rows with the columns that they keep: `kept_columns` says which change each comes from. What no
    change has said is null, and named if there was no row.
-#}
{% macro completed_moves(table) -%}
    {%- set values = value_columns(table.columns, table.key) -%}
    {%- set is_kept = "_moved_from is not null and array_contains(map_keys(_column_sequences), '{column}')" -%}
    select
        {%- for column in table.columns + merge_columns() if column.name not in ['_problems', '_column_sequences'] %}
        {%- set name = adapter.quote(column.name) %}
        {{ 'if(' ~ is_kept | replace('{column}', column.name) ~ ', kept.' ~ name ~ '.value, changes.' ~ name ~ ')' if column in values else 'changes.' ~ name }} as {{ name }},
        {%- endfor %}
        {{ joined_problems(
            values,
            'if(' ~ is_kept ~ ', coalesce(kept.`{column}`.problems, array()), ' ~ problems_of_column('changes._problems', {'name': '{column}'}) ~ ')'
        ) }} as _problems,
        if(_moved_from is null, _column_sequences, null) as _column_sequences
    from changes_of_moved_keys as changes
    left join (
        select
            {%- for column in values %}
            {%- set name = adapter.quote(column.name) %}
            any_value(
                if(array_contains(_columns, {{ dbt.string_literal(column.name) }}), struct(
                    {{ name }} as value,
                    if(_said_by_key is null, {{ problem_not_carried(column) }}, {{ problems_of_column('_problems', column) }}) as problems
                ), null),
                true
            ) as {{ name }},
            {%- endfor %}
            _moved_key, _moved_sequence, _moved_fingerprint
        from kept_columns
        left join changes_of_moved_keys
            on _key = _said_by_key and _sequence = _said_by_sequence and _fingerprint = _said_by_fingerprint
        group by _moved_key, _moved_sequence, _moved_fingerprint
    ) as kept
        on changes._key = kept._moved_key and changes._sequence = kept._moved_sequence and changes._fingerprint = kept._moved_fingerprint
    left anti join void_halves as void
        on changes._key = void._moved_key and changes._sequence = void._moved_sequence and changes._fingerprint = void._moved_fingerprint
{%- endmacro %}

{% macro problem_not_carried(column) -%}
    array(named_struct('column', {{ dbt.string_literal(column.name) }}, 'code', 'not_carried', 'text', cast(null as string)))
{%- endmacro %}
