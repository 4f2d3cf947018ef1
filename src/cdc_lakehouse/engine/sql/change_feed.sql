{#- What a model reads of a change feed: every row as an insert, or the changes of some commits. -#}
{% macro rows_of_feed(reading) -%}
    {{ changes_in_commits(reading) if reading.kind == 'changes' else rows_as_inserts(reading) }}
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

{% macro changes_in_commits(reading) -%}
    {%- set rows, commit = reading.rows, '_commit_version, _commit_timestamp' -%}
    {%- set paired_by = rows.paired_by ~ (', _place' if rows.model.is_history else '') ~ ', ' ~ commit -%}
    {{ differences(pairs_of_changes(reading), rows, paired_by, commit ~ ', ' ~ reading.feed_name ~ ' as _feed', ', ' ~ commit) }}
{%- endmacro %}

{#-
    A row before and after, with what is `told` of both, left out if it says the same: then a message said again what was known. `kept` are
    columns, of those that pair the two, that it tells.
-#}
{% macro differences(sides, rows, paired_by, told, kept='') -%}
    select
        _row.*,
        case when _before is null then 'insert' when _after is null then 'delete' else 'update' end as _change_type,
        _before,
        {{ told }}
    from (
        select *, coalesce(_after, _before) as _row
        from (
            select
                any_value(if(_is_after, _row, null), true) as _after,
                any_value(if(_is_after, null, _row), true) as _before
                {{- kept }}
            from (
                {{ sides }}
            )
            group by {{ paired_by }}
        )
    )
    where _before is null or _after is null or not {{ rows.values('_before.') }} <=> {{ rows.values('_after.') }}
{%- endmacro %}

{% macro pairs_of_changes(reading) -%}
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
