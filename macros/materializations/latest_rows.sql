{#- The changes that silver has settled after version `read` of bronze, up to version `last`. -#}
{% macro new_changes(sql, read, last) -%}
    select * from (
        {{ sql }}
    )
    where _bronze_version <= {{ last }}{% if read is not none %} and _bronze_version > {{ read }}{% endif %}
{%- endmacro %}

{#- Changes with every value that does not fit its column null and named in `_problems`; a deleted row keeps its key only. -#}
{% macro typed_changes(changes, columns, key) -%}
    select
        {%- for column in columns if not column.name.startswith('_') %}
        {%- set name = adapter.quote(column.name) %}
        case when {% if column.name not in key %}_operation <> 'delete' and {% endif %}{{ value_problem(column) }} is null then {{ name }} end as {{ name }},
        {%- endfor %}
        filter(
            array(
                {%- for column in columns if not column.name.startswith('_') %}
                named_struct('column', '{{ column.name }}', 'code', {{ value_problem(column) }}, 'text', {{ source_text(column) }}){{ ',' if not loop.last }}
                {%- endfor %}
            ),
            problem -> problem.code is not null and _operation <> 'delete'
        ) as _problems,
        {%- for column in columns if column.name.startswith('_') and column.name != '_problems' %}
        {{ column.name }},
        {%- endfor %}
        if(_operation = 'truncate', _source_table, null) as _truncated_table
    from (
        {{ changes }}
    )
{%- endmacro %}

{#-
    The last change of each key, in the order of the source. Of one change that moves a key to and fro the new row wins;
    of copies with one sequence, the one delivered first.
-#}
{% macro latest_rows(changes, columns, key) -%}
    select latest.* from (
        select
            max_by(
                struct(*),
                struct(_sequence, _operation <> 'delete', -_partition, -_offset)
            ) as latest
        from (
            {{ typed_changes(changes, columns, key) }}
        )
        where _truncated_table is not null or ({{ key_is_known(key) }})
        group by {% for name in key %}{{ adapter.quote(name) }}, {% endfor %}_truncated_table
    )
{%- endmacro %}

{% macro key_is_known(key) -%}
    {%- for name in key %}{{ adapter.quote(name) }} is not null{{ ' and ' if not loop.last }}{% endfor %}
{%- endmacro %}

{#- Bring the stored rows up to date: a change wins over what is older in the source, however late it comes. -#}
{% macro merge_rows(storage, rows, key) -%}
    merge into {{ storage }} as stored
    using (
        {{ rows }}
    ) as changed
    on
        {%- for name in key %}
        stored.{{ adapter.quote(name) }} <=> changed.{{ adapter.quote(name) }} and
        {%- endfor %}
        stored._truncated_table <=> changed._truncated_table
    when matched
        and struct(changed._sequence, changed._operation <> 'delete') > struct(stored._sequence, stored._operation <> 'delete')
        then update set *
    when not matched then insert *
{%- endmacro %}

{#- The rows that live: not deleted, and not older than the last TRUNCATE of their table. -#}
{% macro create_view_of_living_rows(view, storage) -%}
    create or replace view {{ view }}
    with schema evolution
    as
    select * except (_truncated_table)
    from {{ storage }}
    where
        _truncated_table is null
        and _operation <> 'delete'
        and _sequence > coalesce(
            (
                select map_from_entries(collect_list(struct(_truncated_table, _sequence)))
                from {{ storage }}
                where _truncated_table is not null
            )[_source_table],
            ''
        )
{%- endmacro %}

{#- The changes that could not be merged, since their key is missing or does not fit its type. -#}
{% macro create_view_of_rows_without_key(storage, sql, columns, key) -%}
    create or replace view {{ storage.incorporate(path={'identifier': storage.identifier ~ '_without_key'}) }} as
    select * except (_truncated_table)
    from (
        {{ typed_changes(sql, columns, key) }}
    )
    where _truncated_table is null and not ({{ key_is_known(key) }})
{%- endmacro %}
