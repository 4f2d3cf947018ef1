{#- The model itself, where every row is shown as it is merged. -#}
{% macro view_of_rows(table) -%}
    create or replace view {{ table.view }} with schema evolution as
    {{ merged_rows(table) }}
{%- endmacro %}

{#- The rows of a model as the merge has made them: of a current state those that live, of a history the versions. -#}
{% macro merged_rows(table) -%}
    {{ versions_shown(table) if table.model.is_history else living_rows(table) }}
{%- endmacro %}

{#- The active rows; where deletes are flagged, the others too. -#}
{% macro living_rows(table) -%}
    {%- set flags, condition = table.model.options.shows_deleted, is_deleted(table) -%}
    select
        * except ({{ table.model.parts.names_of_change }}),
        {{ table.model.parts.shown_change }}
        {{- ', ' ~ condition ~ ' as _is_deleted' if flags }}
    from {{ table.storage }}
    where
        _truncated_table is null
        {{ 'and not (' ~ condition ~ ')' if not flags }}
{%- endmacro %}

{#- A row lives that is newer than the last TRUNCATE of its table, and than the last DROP, if they remove rows. -#}
{% macro is_deleted(table) -%}
    _operation = 'delete'
    {%- if table.model.options.removing %}
    or {{ removed_by('_sequence', last_marker(table)) }}
    {%- endif %}
{%- endmacro %}

{#- The sequence of the last marker that removes the rows of a row's source table; empty if there is none. -#}
{% macro last_marker(table) -%}
    coalesce(
        (
            select map_from_entries(collect_list(struct(_truncated_table, _sequence)))
            from (
                select _truncated_table, max(_sequence) as _sequence
                from {{ table.storage }}
                where {{ table.model.is_removing }}
                group by _truncated_table
            )
        )[_source_table],
        ''
    )
{%- endmacro %}

{#- The versions of a history: each change is the last of a run of equal rows, with the time in which they were true. -#}
{% macro versions_shown(table) -%}
    select
        * except (_is_version, {{ table.model.parts.names_of_change }}),
        {{ table.model.parts.shown_change }}
    from {{ table.storage }}
    where _is_version
{%- endmacro %}

{% macro as_of_function(table) -%}
    create or replace function {{ table.as_of }}(moment timestamp)
    returns table
    comment {{ ('The rows of ' ~ table.view ~ ' as they were at a moment.') | quoted }}
    return select * from {{ rows_as_of(table.view, parameter_of(table.as_of, 'moment')) }}
{%- endmacro %}

{#- The same of what was known at another moment: its versions are derived from the changes that silver had processed by then. -#}
{% macro as_known_function(table) -%}
    {%- set model = table.model -%}
    create or replace function {{ table.as_known }}(valid timestamp, known timestamp)
    returns table
    comment {{ ('The rows of ' ~ table.view ~ ' as they were at a moment, by what was known at another.') | quoted }}
    return
    {{ steps_to_versions(changes_known_at(table, parameter_of(table.as_known, 'known')), model, is_partial=true) }}
    {{ shown_of(versions_known(table), table) if model.row_rules else versions_known(table) }}
{%- endmacro %}

{% macro versions_known(table) -%}
    select {{ table.model.shown_names }}
    from versions
    where _is_version and {{ is_valid_at(parameter_of(table.as_known, 'valid')) }}
{%- endmacro %}

{% macro changes_known_at(table, moment) -%}
    select {{ table.model.change_names }}, false as _is_stored, null as _stored
    from {{ table.storage }}
    where _known_at <= {{ moment }}
{%- endmacro %}

{#- A parameter of a function: its name alone would be that of a column, if the table has one of that name. -#}
{% macro parameter_of(function, name) -%}
    {{ function.identifier }}.{{ name }}
{%- endmacro %}

{#-
    The changes that could not be merged, since their key is missing or does not fit its type. Of their problems it tells those
    of the key: the metastore refuses the text of a view that looks at every column of a wide table.
-#}
{% macro view_of_changes_without_key(table) -%}
    create or replace view {{ table.without_key }} as
    select * except ({{ table.model.unmerged_names }}, _unfit{% for column in table.key_typing.doubted %}, {{ column.doubt }}{% endfor %})
    from (
        select *, {{ table.problems_of_key }} as _problems
        from (
            {{ with_unfit_values(changes_of_rows(table.model), table.key_typing) }}
        )
    )
    where size(_problems) > 0 or not ({{ table.model.key.is_known }})
{%- endmacro %}

{% macro changes_of_rows(model) -%}
    select * from (
        {{ model.sql }}
    )
    where _operation not in ('truncate', 'extract')
{%- endmacro %}

{#- What gold_problems says of a table: one row per value that does not fit, change without key, and TRUNCATE that is ignored. -#}
{% macro view_of_problems(table) -%}
    create or replace view {{ table.problems }} {{ table.properties_of_views }} as
    select {{ table.view.identifier | quoted }} as table_name, problem.column as column_name, problem.code, problem.text, committed_at
    from (
        select _committed_at as committed_at, explode(_problems) as problem
        from {{ table.validated if table.model.row_rules else table.view }}
        union all
        select _committed_at as committed_at, explode(_problems) as problem
        from {{ table.without_key }}
        union all
        select _committed_at as committed_at, {{ problem_of_table('missing_key') }} as problem
        from {{ table.without_key }}
        {{ union_of_ignored_truncates(table) if not table.model.options.applies_truncates }}
    )
{%- endmacro %}

{% macro union_of_ignored_truncates(table) -%}
    union all
    select _committed_at as committed_at, {{ problem_of_table('ignored_truncate', '_truncated_table') }} as problem
    from {{ table.storage }}
    where _truncated_table is not null and _operation = 'truncate'
{%- endmacro %}

{% macro problem_of_table(code, text='cast(null as string)') -%}
    named_struct('column', cast(null as string), 'code', '{{ code }}', 'text', {{ text }})
{%- endmacro %}

{#- What gold_problems is before there is a gold model. -#}
{% macro no_problem() %}
    select
        cast(null as string) as table_name,
        cast(null as string) as column_name,
        '' as code,
        '' as text,
        current_timestamp() as committed_at
    where false
{%- endmacro %}
