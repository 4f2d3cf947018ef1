{#-
    What has changed in a gold table whose model says `change_feed=true`, for a model that folds it:
    `select * from {{ changes_of(ref('orders'), since=last_change_read()) }}`. One row per row of the table and commit that changed
    it: the row after it (of a delete: before), `_change_type` (insert, update, delete), `_before` (the row before, null of an insert),
    `_commit_version`, `_commit_timestamp` and `_feed`. Without `since` it is every row as an insert. docs/feed.md has an example.
-#}
{% macro changes_of(relation, since=none) -%}
    {%- if execute -%}
        {%- set reading = adapter.reading_of_feed(relation, (graph.nodes or {}).values(), since, this) -%}
        (
            {{ changes_in_commits(reading) if reading.kind == 'changes' else rows_as_inserts(reading) }}
        )
    {%- else -%}
        {{ relation }}
    {%- endif -%}
{%- endmacro %}

{#- Up to where this model has read a change feed: its own greatest `_commit_version`, with `_feed`; none where it begins. -#}
{% macro last_change_read(commit='_commit_version', feed='_feed') -%}
    {%- if execute and is_incremental() -%}
        {%- set found = run_query('select max(' ~ commit ~ '), max_by(' ~ feed ~ ', ' ~ commit ~ ') from ' ~ this).rows[0] -%}
        {{ return(none if found[0] is none else {'commit': found[0] | int, 'feed': found[1]}) }}
    {%- endif -%}
    {{ return(none) }}
{%- endmacro %}

{% macro rows_as_inserts(reading) -%}
    select
        {{ reading.rows.all_names }},
        'insert' as _change_type,
        if(false, struct({{ reading.rows.all_names }}), null) as _before,
        cast({{ reading.last }} as bigint) as _commit_version,
        timestamp_millis({{ reading.committed_at }}) as _commit_timestamp,
        {{ reading.feed_name }} as _feed
    from {{ reading.rows_as_they_are }}
    {{ 'where false' if reading.kind == 'nothing' }}
{%- endmacro %}

{#- A row before a commit and after it, left out if it says the same: then a message said again what was known. -#}
{% macro changes_in_commits(reading) -%}
    {%- set rows = reading.rows -%}
    select
        _row.*,
        case when _before is null then 'insert' when _after is null then 'delete' else 'update' end as _change_type,
        _before,
        _commit_version,
        _commit_timestamp,
        {{ reading.feed_name }} as _feed
    from (
        select *, coalesce(_after, _before) as _row
        from (
            select
                any_value(if(_is_after, _row, null), true) as _after,
                any_value(if(_is_after, null, _row), true) as _before,
                _commit_version,
                _commit_timestamp
            from (
                {{ halves_of_changes(reading) }}
            )
            group by {{ rows.paired_by }}, {{ '_place, ' if rows.model.is_history }}_commit_version, _commit_timestamp
        )
    )
    where _before is null or _after is null or not {{ rows.values('_before.') }} <=> {{ rows.values('_after.') }}
{%- endmacro %}

{% macro halves_of_changes(reading) -%}
    {%- set rows = reading.rows -%}
    {%- set is_after = "_change_type in ('insert', 'update_postimage')" -%}
    select
        {{ rows.paired_by }},
        struct({{ rows.all_names }}) as _row,
        {{ is_after }} as _is_after,
        {%- if rows.model.is_history %}
        row_number() over (
            partition by {{ rows.paired_by }}, _commit_version, {{ is_after }} order by {{ rows.order }}
        ) as _place,
        {%- endif %}
        _commit_version,
        _commit_timestamp
    from {{ reading.changes }}
{%- endmacro %}
