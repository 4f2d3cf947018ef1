{#-
    Every change of the keys that a run touches, stored or new, with the time in which it was true: what changes in the history.
    `_is_version` marks the rows that the model shows: of equal rows in a run, the last. A change is in effect from its commit;
    where the source's clock jumps back, from the latest commit before it, so that no two versions overlap.
-#}
{% macro versions_of_rows(table, profile) -%}
    {%- set key = key_names(table.key) -%}
    {%- set columns = column_names(columns_of_changes(table)) -%}
    {%- set order = order_of_versions() -%}
    with _changes as (
        select latest.*{% if profile.moves %}, _is_stored, _stored, {{ is_forgotten(table) }} as _is_forgotten{% endif %}
        from (
            select {{ latest_of_copies(table, profile) }}
            from (
                select {{ columns }}, {{ '_is_followed, ' if profile.moves }}false as _is_stored, null as _stored
                from (
                    {{ profile.changes }}
                )
                where _truncated_table is not null or ({{ key_is_known(table.key) }})
                {%- if table.read is not none %}
                union all
                select {{ columns }}, {{ 'false, ' if profile.moves }}true as _is_stored, {{ derived_content(table, profile) }} as _stored
                from {{ table.storage }} as stored
                where {{ is_touched(table, profile) }}
                {%- endif %}
            )
            group by {{ key }}, _truncated_table, _sequence, _fingerprint
        )
    ),
    changed as (
        select * from _changes
        {%- if profile.moves %}
        where not _is_forgotten
        {%- endif %}
        qualify not _is_replaced or bool_and(_is_replaced) over (partition by {{ key }}, _truncated_table, _sequence)
    ),
    {%- if profile.partial %}
    whole as (
        {{ completed_from_earlier('changed', table) }}
    ),
    {%- endif %}
    _truncates as (
        select
            _truncated_table as _table_of_truncates,
            sort_array(collect_list(struct(_sequence, _committed_at))) as _truncates
        from changed
        where {{ is_removing_marker(table.options) }}
        group by _truncated_table
    ),
    timed as (
        select
            changes.*,
            max(_committed_at) over history_so_far as _effective_at,
            lead(_sequence) over history as _next_sequence,
            {%- if operations_on_tables(table.options) %}
            get(filter(_truncates, _truncate -> _truncate._sequence >= changes._sequence), 0) as _truncate
            {%- else %}
            cast(null as struct<_sequence: string, _committed_at: timestamp>) as _truncate
            {%- endif %}
        from {{ 'whole' if profile.partial else 'changed' }} as changes
        left join _truncates
            on _source_table = _table_of_truncates
        where _truncated_table is null
        window
            history as (partition by {{ key }} order by {{ order }}),
            history_so_far as (partition by {{ key }} order by {{ order }} rows between unbounded preceding and current row)
    ),
    ended as (
        select
            *,
            coalesce(_truncate._sequence < _next_sequence, _truncate is not null) as _is_truncated,
            lead(_effective_at) over history as _next_effective_at,
            struct({{ tracked_content(table) }}) as _content
        from timed
        window history as (partition by {{ key }} order by {{ order }})
    ),
    begun as (
        select
            *,
            _operation <> 'delete' and not coalesce(
                lag(_operation <> 'delete' and not _is_truncated) over history and lag(_content) over history <=> _content,
                false
            ) as _is_begin
        from ended
        window history as (partition by {{ key }} order by {{ order }})
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
        window
            history as (partition by {{ key }} order by {{ order }}),
            history_so_far as (partition by {{ key }} order by {{ order }} rows between unbounded preceding and current row)
    )
    select {{ column_names(table.stored_columns) }}
    from (
        select {{ column_names(table.stored_columns) }}, _is_stored, _stored from versions
        union all
        select
            {%- for column in table.stored_columns %}
            {{ column_or_null(column) }},
            {%- endfor %}
            _is_stored,
            _stored
        from changed
        where _truncated_table is not null
        {%- if profile.moves %}
        union all
        select
            {%- for column in table.stored_columns %}
            {{ "'forget'" if column.name == '_operation' else column_or_null(column) }},
            {%- endfor %}
            false,
            null
        from _changes
        where _is_forgotten
        {%- endif %}
    )
    {%- if table.read is not none %}
    where not _is_stored or not _stored <=> {{ derived_content(table, profile) }}
    {%- endif %}
{%- endmacro %}

{#- A stored column of a change that begins and ends no version. -#}
{% macro column_or_null(column) -%}
    {{ 'cast(null as ' ~ column.data_type ~ ')' if column.name in ['valid_from', 'valid_to', 'is_current', '_is_version'] else adapter.quote(column.name) }}
{%- endmacro %}

{#- Of the copies of a change the stored one; but of one whose keys were followed what that gave, if it is to be written. -#}
{% macro latest_of_copies(table, profile) -%}
    {%- if profile.moves -%}
        max_by(struct({{ column_names(columns_of_changes(table)) }}), struct(_is_followed, _is_stored, _partition, _offset)) as latest,
        bool_or(_is_followed) as _is_followed,
        bool_or(_is_stored) as _is_stored,
        max_by(_stored, _is_stored) as _stored
    {%- else -%}
        max_by(struct(*), struct(_is_stored, _partition, _offset)) as latest
    {%- endif -%}
{%- endmacro %}

{#- Whether a stored change is none of those that following its key gave: a removed half that has turned out to remove no row. -#}
{% macro is_forgotten(table) -%}
    not _is_followed and bool_or(_is_followed) over (partition by {{ key_names(table.key, 'latest.') }}, latest._truncated_table)
{%- endmacro %}

{#-
    The stored changes whose versions a run can change: all of the keys that it touches. A TRUNCATE touches every key, and is
    needed itself to tell where the versions of others end.
-#}
{% macro is_touched(table, profile) -%}
    {%- if profile.truncates -%}
        true
    {%- else -%}
        ({{ profile['keys'] }} or stored._truncated_table is not null)
        and (
            stored._truncated_table is not null
            or exists (
                select 1 from new_changes
                where {{ has_key_of('new_changes', table.key) }}
            )
        )
    {%- endif -%}
{%- endmacro %}

{#- What other changes of its key decide of a stored change. -#}
{% macro derived_content(table, profile) -%}
    struct(
        valid_from, valid_to, is_current, _is_version
        {%- if profile.partial %},
        map_entries(_column_sequences), _problems{{ comparable(value_columns(table.columns, table.key)) }}
        {%- endif %}
    )
{%- endmacro %}

{#- What makes two versions different: the tracked columns, and the problems of those. -#}
{% macro tracked_content(table) -%}
    {%- set tracked = table.options.track_columns or value_columns(table.columns, table.key) | map(attribute='name') | list -%}
    {%- set columns, names = [], [] -%}
    {%- for column in table.columns if column.name in tracked -%}
        {% do columns.append(column) %}
        {% do names.append(dbt.string_literal(column.name)) %}
    {%- endfor -%}
    filter(_problems, problem -> array_contains(cast(array({{ names | join(', ') }}) as array<string>), problem.column))
    {{- comparable(columns) }}
{%- endmacro %}

{#- Further columns of a struct that is compared: Spark has no equality for maps. -#}
{% macro comparable(columns, row='') -%}
    {%- for column in columns -%}
        {%- set name = row ~ adapter.quote(column.name) -%}
        , {{ 'to_json(struct(' ~ name ~ '))' if 'map<' in column.data_type | lower else name }}
    {%- endfor -%}
{%- endmacro %}

{% macro order_of_versions() -%}
    _sequence, _partition, _offset, _row_number
{%- endmacro %}

{% macro columns_of_changes(table) -%}
    {{ return(table.stored_columns | rejectattr('name', 'in', ['valid_from', 'valid_to', 'is_current', '_is_version']) | list) }}
{%- endmacro %}

{#- Partial images, their other columns as the last earlier change that carries them left them. -#}
{% macro completed_from_earlier(changes, table) -%}
    {%- set values = value_columns(table.columns, table.key) -%}
    select
        {%- for column in columns_of_changes(table) if column.name not in ['_problems', '_column_sequences'] %}
        {%- set name = adapter.quote(column.name) %}
        {{ name ~ '.value' if column in values else name }} as {{ name }},
        {%- endfor %}
        {{ joined_problems(values, "coalesce(`{column}`.problems, array())") }} as _problems,
        {{ columns_older_than('_sequence', values, "coalesce(`{column}`.sequence, '')") }} as _column_sequences,
        _is_stored,
        _stored
    from (
        select
            * except ({{ column_names(values) }}),
            {%- for column in values %}
            {%- set name = adapter.quote(column.name) %}
            last(
                if(
                    _column_sequences[{{ dbt.string_literal(column.name) }}] is null,
                    struct({{ name }} as value, {{ problems_of_column('_problems', column) }} as problems, _sequence as sequence),
                    null
                ),
                true
            ) over history_so_far as {{ name }}{{ ',' if not loop.last }}
            {%- endfor %}
        from {{ changes }}
        window history_so_far as (
            partition by {{ key_names(table.key) }} order by {{ order_of_versions() }}
            rows between unbounded preceding and current row
        )
    )
{%- endmacro %}

{#- The changes that the model shows: each the last of a run of equal rows, with the time in which they were true. -#}
{% macro view_of_versions(table) -%}
    select * except (_is_version, {{ column_names(merge_columns()) }})
    from {{ table.storage }}
    where _is_version
{%- endmacro %}

{#- Write new changes, and those stored ones whose version they change. -#}
{% macro merge_versions(table, profile) -%}
    merge into {{ table.storage }} as stored
    using changed_rows as changed
    on {{ is_same_row(table.key) }}
        and stored._sequence = changed._sequence and stored._fingerprint = changed._fingerprint
        {%- if not profile.truncates %} and {{ profile['keys'] }}{% endif %}
    {%- if profile.moves %}
    when matched and changed._operation = 'forget' then delete
    {%- endif %}
    when matched then update set *
    when not matched then insert *
{%- endmacro %}
