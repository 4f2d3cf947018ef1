{#-
    Changes of keys with the time in which each was true, by all `changes` of these keys: what changes in the history.
    `_is_version` marks the rows that the model shows: of equal rows in a run, the last. A change is in effect from its commit;
    where the source's clock jumps back, from the latest commit before it, so that no two versions overlap.
-#}
{% macro versions_of_rows(changes, table, found) -%}
    {%- set model = table.model -%}
    {{ steps_to_versions(changes, model, found.is_partial, found.follows_keys) }}
    select {{ model.stored_names }}
    from (
        select {{ model.stored_names }}, _is_stored, _stored from versions
        union all
        select
            {{ model.row_with('_operation') }},
            _is_stored,
            _stored
        from changed
        where _truncated_table is not null
        {{ union_of_forgotten(model, '_changes', '_is_forgotten') if found.follows_keys }}
        {{ union_of_forgotten(model, 'marked', '_is_overruled and _is_stored') if found.has_pairs }}
    )
    {{ 'where not _is_stored or not _stored <=> ' ~ model.derived(found.is_partial) if table.read is not none }}
{%- endmacro %}

{#- The steps from changes of keys to `versions`: the changes of rows but for rows before that remove nothing. -#}
{% macro steps_to_versions(changes, model, is_partial, follows_keys=false) -%}
    with _changes as (
        {{ changes }}
    ),
    -- The row before of a pair removes nothing where the row after has the same key.
    marked as (
        select
            *,
            _is_replaced and not bool_and(_is_replaced) over (
                partition by {{ model.key.names() }}, _truncated_table, _sequence
            ) as _is_overruled
        from _changes
        {{ 'where not _is_forgotten' if follows_keys }}
    ),
    changed as (
        select * from marked
        where not _is_overruled
    ),
    whole as (
        {{ completed_from_earlier(model) if is_partial else 'select * from changed' }}
    ),
    _truncates as (
        select
            _truncated_table as _table_of_truncates,
            -- How the sequences of the rows of an extract begin: it ends no version that one of them carries on.
            sort_array(
                collect_list(
                    struct(
                        _sequence,
                        _committed_at,
                        if(_operation = 'extract', left(_sequence, length(_sequence) - 1), null) as _rows
                    )
                )
            ) as _truncates
        from changed
        where {{ model.is_removing }}
        group by _truncated_table
    ),
    timed as (
        select
            changes.*,
            max(_committed_at) over history_so_far as _effective_at,
            lead(_sequence) over history as _next_sequence,
            _truncates
        from whole as changes
        left join _truncates
            on _source_table = _table_of_truncates
        where _truncated_table is null
        window {{ windows_of_keys(model.key) }}
    ),
    emptied as (
        select
            *,
            get(
                filter(
                    _truncates,
                    _truncate -> {{ removed_by('_sequence', '_truncate._sequence') }}
                    and not coalesce(startswith(_next_sequence, _truncate._rows), false)
                ),
                0
            ) as _truncate
        from timed
    ),
    ended as (
        select
            *,
            coalesce(_truncate._sequence < _next_sequence, _truncate is not null) as _is_truncated,
            lead(_effective_at) over history as _next_effective_at,
            {{ model.tracked }} as _content
        from emptied
        window {{ windows_of_keys(model.key) }}
    ),
    begun as (
        select
            *,
            _operation <> 'delete' and not coalesce(
                lag(_operation <> 'delete' and not _is_truncated) over history and lag(_content) over history <=> _content,
                false
            ) as _is_begin
        from ended
        window {{ windows_of_keys(model.key) }}
    ),
    versions as (
        select
            *,
            if(_operation <> 'delete', max(if(_is_begin, _effective_at, null)) over history_so_far, null) as valid_from,
            case
                when _operation = 'delete' then null
                when _is_truncated then least(_next_effective_at, greatest(_effective_at, _truncate._committed_at))
                else _next_effective_at
            end as valid_to,
            _operation <> 'delete' and _next_sequence is null and not _is_truncated as is_current,
            _operation <> 'delete' and (
                _next_sequence is null or _is_truncated or lead(_operation = 'delete' or _is_begin) over history
            ) as _is_version
        from begun
        window {{ windows_of_keys(model.key) }}
    )
{%- endmacro %}

{#- The changes of a key in the order of the source: all, and those up to each. -#}
{% macro windows_of_keys(key) -%}
    history as (partition by {{ key.names() }} order by {{ order_columns() | join(', ') }}),
    history_so_far as (
        partition by {{ key.names() }} order by {{ order_columns() | join(', ') }}
        rows between unbounded preceding and current row
    )
{%- endmacro %}

{#-
    Changes of a table that is built again, known since the stored table knows the same change: silver may have been built again, too.
    A message that is read otherwise now is another change.
-#}
{% macro known_as_before(changes, table) -%}
    select changes.* except (_known_at), least(changes._known_at, before._known_at) as _known_at
    from (
        {{ changes }}
    ) as changes
    left join (
        select {{ table.identity }} as _change, min(_known_at) as _known_at
        from {{ table.storage }}
        group by 1
    ) as before
        on {{ table.identity }} = before._change
{%- endmacro %}

{#- New changes and the stored ones of the same keys, each change once. -#}
{% macro changes_of_touched_keys(changes, table, found) -%}
    {%- set rows = new_and_stored_changes(changes, table, found) -%}
    {{ followed_copies_as_one(rows, table.model) if found.follows_keys else copies_as_one(rows, table.model) }}
{%- endmacro %}

{#- `_stored` is what a stored change had: where that stays the same, it is not written again. -#}
{% macro new_and_stored_changes(changes, table, found) -%}
    select {{ table.model.change_names }}, {{ '_is_followed, ' if found.follows_keys }}false as _is_stored, null as _stored
    from (
        {{ changes }}
    )
    where _truncated_table is not null or ({{ table.model.key.is_known }})
    {{ union_of_stored_changes(table, found) if table.read is not none }}
{%- endmacro %}

{% macro union_of_stored_changes(table, found) -%}
    union all
    select
        {{ table.model.change_names }},
        {{ 'false, ' if found.follows_keys }}true,
        {{ table.model.derived(found.is_partial) }}
    from {{ table.storage }} as stored
    where {{ table.is_touched(found) }}
{%- endmacro %}

{#- Of the copies of a change the stored one; it is known since the first. -#}
{% macro copies_as_one(rows, model) -%}
    select latest.* except (_known_at), _known_at
    from (
        select max_by(struct(*), struct(_is_stored, _partition, _offset)) as latest, min(_known_at) as _known_at
        from (
            {{ rows }}
        )
        group by {{ model.key.names() }}, _truncated_table, _sequence, _fingerprint
    )
{%- endmacro %}

{#-
    The same, but of a change whose keys were followed what that gave. `_is_forgotten` marks a stored change that is none of these:
    a row before that has turned out to remove no row.
-#}
{% macro followed_copies_as_one(rows, model) -%}
    select
        latest.* except (_known_at),
        _known_at,
        _is_stored,
        _stored,
        not _is_followed and bool_or(_is_followed) over (
            partition by {{ model.key.names('latest.') }}, latest._truncated_table
        ) as _is_forgotten
    from (
        select
            max_by(struct({{ model.change_names }}), struct(_is_followed, _is_stored, _partition, _offset)) as latest,
            min(_known_at) as _known_at,
            bool_or(_is_followed) as _is_followed,
            bool_or(_is_stored) as _is_stored,
            max_by(_stored, _is_stored) as _stored
        from (
            {{ rows }}
        )
        group by {{ model.key.names() }}, _truncated_table, _sequence, _fingerprint
    )
{%- endmacro %}

{#- Partial images, their other columns as the last earlier change that carries them left them. -#}
{% macro completed_from_earlier(model) -%}
    select
        {{ model.parts.completed_row }},
        _is_stored,
        _stored
    from (
        select
            {{ model.parts.earlier_values }},
            _is_stored,
            _stored
        from changed
        window {{ windows_of_keys(model.key) }}
    )
{%- endmacro %}

{#- The stored changes to be taken away. -#}
{% macro union_of_forgotten(model, rows, are_forgotten) -%}
    union all
    select
        {{ model.row_with("'forget'") }},
        false,
        null
    from {{ rows }}
    where {{ are_forgotten }}
{%- endmacro %}
