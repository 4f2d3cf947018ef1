{#-
    Typed changes, and of the change that each belongs to the key whose row it removes and the key whose row it writes. Asked before
    changes are picked by key, for the two may differ.
-#}
{% macro with_keys_of_messages(changes, model) -%}
    {%- set key = model.key -%}
    select
        *,
        max(if(_operation = 'delete' and {{ key.is_known }}, {{ key.as_one }}, null)) over message_row as _removed_key,
        max(if(_operation not in ('delete', 'truncate', 'drop', 'extract'), {{ key.as_one }}, null)) over message_row as _new_key
    from (
        {{ changes }}
    )
    window message_row as (partition by _topic, _partition, _offset, _row_number)
{%- endmacro %}

{#-
    The same across messages: a format may send an update as a before/after pair, two messages that share their sequence. A row before
    without a row in its message belongs to a row without a row before.
-#}
{% macro with_keys_of_updates(changes, model) -%}
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
        {{ with_keys_of_messages(changes, model) }}
    )
    window pair as (partition by _source_table, _sequence)
{%- endmacro %}

{#-
    The same where a format tells a key change as a delete and an insert, which have one place in the source's log: `_pair`. Of the inserts only
    those that lack columns count. Where a place has several of either, none is known to be of another.
-#}
{% macro with_keys_of_pairs(changes, model) -%}
    {%- set left = "if(_operation = 'delete', " ~ model.key.as_one ~ ", null)" -%}
    {%- set begun = "if(" ~ model.parts.is_begun_elsewhere ~ ", " ~ model.key.as_one ~ ", null)" -%}
    select
        * except (_removed_key, _left_key, _is_one_update),
        if(_is_one_update and {{ model.parts.is_begun_elsewhere }}, _left_key, _removed_key) as _removed_key,
        if(_is_one_update, _place, null) as _pair
    from (
        select
            *,
            max({{ left }}) over place as _left_key,
            _place is not null
            and min({{ left }}) over place = max({{ left }}) over place
            and min({{ begun }}) over place = max({{ begun }}) over place as _is_one_update
        from (
            select
                *,
                {{ model.parts.place_of_key_change }} as _place
            from (
                {{ with_keys_of_updates(changes, model) }}
            )
        )
        window place as (partition by _source_table, coalesce(_place, _sequence))
    )
{%- endmacro %}

{#-
    Changes `with_keys_of_pairs`, and of each whether its key change collides with another: within one commit, as a statement has, a row
    comes to a key before another leaves it.
-#}
{% macro with_collisions(pairs, model) -%}
    select *, bool_or(_key_collides) over (partition by _source_table, _sequence) as _collides
    from (
        select
            *,
            coalesce(
                min(if({{ model.is_under_new_key }}, _sequence, null)) over of_key < max(if({{ model.is_removed }}, _sequence, null)) over of_key,
                false
            ) as _key_collides
        from (
            {{ pairs }}
        )
        window of_key as (partition by {{ model.key.names() }}, _source_table, _committed_at)
    )
{%- endmacro %}

{#- A key at which a run's key changes collide, with each other or with what is stored; none if there is none. -#}
{% macro collisions(pairs, table, found) -%}
    {%- set key = table.model.key -%}
    select 1
    from (
        select {{ key.names() }}, _source_table, _committed_at, _sequence, {{ table.model.is_under_new_key }} as _comes, {{ table.model.is_removed }} as _leaves
        from (
            {{ pairs }}
        )
        where {{ table.model.is_under_new_key }} or {{ table.model.is_removed }}
        union all
        select {{ key.names() }}, _source_table, _committed_at, _sequence, _operation <> 'delete', _operation = 'delete' and _is_replaced
        from {{ table.storage }} as stored
        where
            {{ found.keys }} and _truncated_table is null
            and exists (
                select 1 from new_changes
                where {{ key.is_that_of('new_changes') }} and stored._committed_at <=> new_changes._committed_at
            )
    )
    group by {{ key.names() }}, _source_table, _committed_at
    having min(if(_comes, _sequence, null)) < max(if(_leaves, _sequence, null))
    limit 1
{%- endmacro %}

{#- Of the view `all_changes` those of the keys in `followed_keys`, each once, and the operations on their tables. -#}
{% macro changes_of_followed_keys(model) -%}
    {%- set copies = 'partition by _key, _truncated_table, _sequence, _fingerprint' -%}
    select *{{ ' except (_known_at), min(_known_at) over (' ~ copies ~ ') as _known_at' if model.is_history }}
    from (
        select
            * except (_column_sequences, _removed_key, _new_key, _place, _key_collides, _collides),
            {{ model.key.text() }} as _key,
            if({{ model.is_under_new_key }}, {{ model.key.text('_removed_key.') }}, null) as _former_key,
            {{ model.columns_left_alone }} as _column_sequences
        from all_changes
        where not {{ model.is_before_of_its_row }}
    )
    where _truncated_table is not null or _key in (select _key from followed_keys)
    qualify row_number() over ({{ copies }} order by _partition desc, _offset desc, _row_number desc) = 1
{%- endmacro %}

{#- The changes of a run, those of keys that key changes connect in place of all that it has of them; `_is_followed` marks them. -#}
{% macro with_followed_changes(changes, model) -%}
    select {{ model.change_names }}, false as _is_followed
    from (
        {{ changes }}
    ) as changes
    left anti join followed_keys
        on followed_keys._key = {{ model.key.text() }}
    union all
    select {{ model.change_names }}, true as _is_followed
    from (
        {{ followed_rows(model) }}
    )
    where _truncated_table is null
{%- endmacro %}

{#-
    The changes of followed keys, rows under a new key with the columns that they keep: `kept_columns` says which change each comes from. What no
    change has said is null, and named if there was no row.
-#}
{% macro followed_rows(model) -%}
    select {{ model.parts.followed_row }}
    from changes_of_followed_keys as changes
    left join (
        select
            {{ model.parts.kept_values -}}
            _change_key,
            _change_sequence,
            _change_fingerprint
        from kept_columns
        left join changes_of_followed_keys
            on _key = _said_by_key and _sequence = _said_by_sequence and _fingerprint = _said_by_fingerprint
        group by _change_key, _change_sequence, _change_fingerprint
    ) as kept
        on changes._key = kept._change_key and changes._sequence = kept._change_sequence and changes._fingerprint = kept._change_fingerprint
    left anti join void_pairs as void
        on changes._key = void._change_key and changes._sequence = void._change_sequence and changes._fingerprint = void._change_fingerprint
{%- endmacro %}
