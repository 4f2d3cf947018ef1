{#-
    What has changed in a gold table whose model says `change_feed=true`, for a model that folds it:
    `select * from {{ changes_of(ref('orders'), since=last_change_read()) }}`. One row per row of the table and commit that changed
    it: the row after it (of a delete: before), `_change_type` (insert, update, delete), `_before` (the row before, null of an insert),
    `_commit_version`, `_commit_timestamp` and `_feed`. Without `since` it is every row as an insert. docs/feed.md has an example.

    `until=moment()` reads a history instead, at moments at which all tables are complete: a row per key that differs between the moment
    that this model has read and that one. It has `_moment` in the place of the commit.
-#}
{% macro changes_of(relation, since=none, until=none) -%}
    {%- if execute and until is not none -%}
        ({{ adapter.feeds.changes_until(relation, (graph.nodes or {}).values(), since, until, this) }})
    {%- elif execute -%}
        ({{ adapter.feeds.changes_of(relation, (graph.nodes or {}).values(), since, this) }})
    {%- else -%}
        {{ relation }}
    {%- endif -%}
{%- endmacro %}

{#- The moment at which all gold tables are complete, for `until`. -#}
{% macro moment() -%}
    {{ return(adapter.moments.shown() if execute else '') }}
{%- endmacro %}

{#- The moment up to which this model has read others: its own greatest `_moment`; none where it begins. -#}
{% macro last_moment_read(column='_moment') -%}
    {%- if execute and is_incremental() -%}
        {{ return(run_query('select max(' ~ column ~ ') from ' ~ this).rows[0][0]) }}
    {%- endif -%}
    {{ return(none) }}
{%- endmacro %}

{#- Up to where this model has read a change feed: its own greatest `_commit_version`, with `_feed`; none where it begins. -#}
{% macro last_change_read(commit='_commit_version', feed='_feed') -%}
    {%- if execute and is_incremental() -%}
        {%- set found = run_query('select max(' ~ commit ~ '), max_by(' ~ feed ~ ', ' ~ commit ~ ') from ' ~ this).rows[0] -%}
        {{ return(none if found[0] is none else {'commit': found[0] | int, 'feed': found[1]}) }}
    {%- endif -%}
    {{ return(none) }}
{%- endmacro %}
