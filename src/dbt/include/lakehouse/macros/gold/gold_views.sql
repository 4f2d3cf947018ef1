{#- The rows that live; where deletes are flagged, the others too. A row lives that is newer than the last TRUNCATE of its table, and than the last DROP. -#}
{% macro view_of_living_rows(table) -%}
    {%- set is_deleted -%}
        _operation = 'delete'
        {%- if operations_on_tables(table.options) %}
        or _sequence <= coalesce(
            (
                select map_from_entries(collect_list(struct(_truncated_table, _sequence)))
                from (
                    select _truncated_table, max(_sequence) as _sequence
                    from {{ table.storage }}
                    where {{ is_removing_marker(table.options) }}
                    group by _truncated_table
                )
            )[_source_table],
            ''
        )
        {%- endif -%}
    {%- endset -%}
    select
        * except ({{ column_names(merge_columns()) }})
        {%- if table.options.on_delete == 'flag' %},
        {{ is_deleted }} as _is_deleted
        {%- endif %}
    from {{ table.storage }}
    where
        _truncated_table is null
        {%- if table.options.on_delete == 'hide' %}
        and not ({{ is_deleted }})
        {%- endif %}
{%- endmacro %}

{#-
    The changes that could not be merged, since their key is missing or does not fit its type. Of their problems it tells those
    of the key: the metastore refuses the text of a view that looks at every column of a wide table.
-#}
{% macro create_view_of_rows_without_key(table, sql) -%}
    {%- set key_columns = table.columns | selectattr('name', 'in', table.key) | list -%}
    create or replace view {{ beside_storage(table, 'without_key') }} as
    select * except (_image, _is_replaced{% for column in key_columns %}, {{ problem_name(column) }}{% endfor %})
    from (
        select *, {{ problems_of_values(key_columns) }} as _problems
        from (
            {{ with_value_problems('select * from (\n' ~ sql ~ "\n) where _operation <> 'truncate'", key_columns) }}
        )
    )
    where size(_problems) > 0 or not ({{ key_is_known(table.key) }})
{%- endmacro %}

{#- What gold_problems says of a table: one row per value that does not fit, change without key, and TRUNCATE that is ignored. -#}
{% macro create_view_of_problems(table) -%}
    create or replace view {{ beside_storage(table, 'problems') }} as
    select {{ dbt.string_literal(this.identifier) }} as table_name, problem.column as column_name, problem.code, problem.text, committed_at
    from (
        select _committed_at as committed_at, explode(_problems) as problem
        from {{ table.view }}
        union all
        select _committed_at as committed_at, explode(_problems) as problem
        from {{ beside_storage(table, 'without_key') }}
        union all
        select _committed_at as committed_at, {{ problem_of_table('missing_key') }} as problem
        from {{ beside_storage(table, 'without_key') }}
        {%- if table.options.on_truncate == 'ignore' %}
        union all
        select _committed_at as committed_at, {{ problem_of_table('ignored_truncate', '_truncated_table') }} as problem
        from {{ table.storage }}
        where _truncated_table is not null and _operation = 'truncate'
        {%- endif %}
    )
{%- endmacro %}

{% macro problem_of_table(code, text='cast(null as string)') -%}
    named_struct('column', cast(null as string), 'code', '{{ code }}', 'text', {{ text }})
{%- endmacro %}

{% macro beside_storage(table, suffix) -%}
    {{ table.storage.incorporate(path={'identifier': table.storage.identifier ~ '_' ~ suffix}) }}
{%- endmacro %}
