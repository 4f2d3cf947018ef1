{#-
    Bring the stored rows up to date: a change wins over what is older in the source, however late it comes.
    `has_partial`: some row, stored or new, has columns that are older than itself.
-#}
{% macro merge_rows(storage, rows, columns, key, has_partial) -%}
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
        {%- if has_partial %} and changed._column_sequences is null{% endif %}
        and {{ is_newer() }}
        then update set *
    {%- if has_partial %}
    when matched
        and ({{ is_newer() }}{% for column in value_columns(columns, key) %} or {{ is_newer(column) }}{% endfor %})
        then update set {{ newer_columns(columns, key) }}
    {%- endif %}
    when not matched then insert *
{%- endmacro %}

{#- Whether the changed row, or one column of it, is newer than the stored. -#}
{% macro is_newer(column=none) -%}
    {%- set changed = column_sequence('changed', column) if column else 'changed._sequence' -%}
    {%- set stored = column_sequence('stored', column) if column else 'stored._sequence' -%}
    struct({{ changed }}, changed._operation <> 'delete') > struct({{ stored }}, stored._operation <> 'delete')
{%- endmacro %}

{#- The place in the source's order at which a column of a row was written last. -#}
{% macro column_sequence(row, column) -%}
    coalesce({{ row }}._column_sequences['{{ column.name }}'], {{ row }}._sequence)
{%- endmacro %}

{#- Of each column the newer value; of the row what the newer change says. -#}
{% macro newer_columns(columns, key) -%}
    {%- set values = value_columns(columns, key) -%}
    {%- for column in values %}
        {{ adapter.quote(column.name) }} = if({{ is_newer(column) }}, changed.{{ adapter.quote(column.name) }}, stored.{{ adapter.quote(column.name) }}),
    {%- endfor %}
    {%- for column in columns if column.name.startswith('_') and column.name != '_problems' %}
        {{ column.name }} = if({{ is_newer() }}, changed.{{ column.name }}, stored.{{ column.name }}),
    {%- endfor %}
        _problems = flatten(array(
            {%- for column in values %}
            filter(if({{ is_newer(column) }}, changed._problems, stored._problems), problem -> problem.column = '{{ column.name }}'){{ ',' if not loop.last }}
            {%- endfor %}
        )),
        _column_sequences = {{ columns_older_than(
            'greatest(changed._sequence, stored._sequence)', values, 'greatest(' ~ column_sequence('changed', {'name': '%s'}) ~ ', ' ~ column_sequence('stored', {'name': '%s'}) ~ ')'
        ) }}
{%- endmacro %}

{#- The columns that are older than their row: a map of name to sequence, null if there are none. -#}
{% macro columns_older_than(sequence, columns, column_sequence) -%}
    {%- set older -%}
        map_filter(
            map({% for column in columns %}'{{ column.name }}', {{ column_sequence | replace('%s', column.name) }}{{ ', ' if not loop.last }}{% endfor %}),
            (name, written) -> written < {{ sequence }}
        )
    {%- endset -%}
    if(size({{ older }}) = 0, null, {{ older }})
{%- endmacro %}

{#- Whether some stored row has columns that are older than itself; read from file statistics where none has. -#}
{% macro has_partial_rows(storage) -%}
    {%- set rows = run_query('select 1 from ' ~ storage ~ ' where _column_sequences is not null limit 1').rows -%}
    {{ return(rows | length > 0) }}
{%- endmacro %}

{#- `latest_rows` where images do not carry all columns: the last change of each column of each key. -#}
{% macro latest_rows_by_column(changes, columns, key) -%}
    {%- set values = value_columns(columns, key) -%}
    with typed as (
        {{ typed_changes(changes, columns, key) }}
    ),
    -- Where the format names no key, any update says that its old row is gone. If its new row has the same key, nothing went.
    changed as (
        select
            *,
            _operation = 'delete' and bool_or(_operation <> 'delete') over (
                partition by
                    {% for name in key %}{{ adapter.quote(name) }}, {% endfor %}_truncated_table,
                    _topic, _partition, _offset, _row_number
            ) as is_half_of_an_update
        from typed
    ),
    latest as (
        select
            {%- for column in values %}
            max_by(
                struct(
                    {{ adapter.quote(column.name) }} as value,
                    filter(_problems, problem -> problem.column = '{{ column.name }}') as problems,
                    {{ column_sequence('changed', column) }} as sequence
                ),
                {{ order_of_changes(column_sequence('changed', column)) }}
            ) as {{ adapter.quote(column.name) }},
            {%- endfor %}
            max_by(struct(changed.* except (is_half_of_an_update)), {{ order_of_changes() }}) as row
        from changed
        where not is_half_of_an_update and (_truncated_table is not null or ({{ key_is_known(key) }}))
        group by {% for name in key %}{{ adapter.quote(name) }}, {% endfor %}_truncated_table
    )
    select
        {%- for column in columns if column.name != '_problems' %}
        {%- set name = adapter.quote(column.name) %}
        {{ name ~ '.value' if column in values else 'row.' ~ name }} as {{ name }},
        {%- endfor %}
        flatten(array({% for column in values %}{{ adapter.quote(column.name) }}.problems{{ ', ' if not loop.last }}{% endfor %})) as _problems,
        row._truncated_table as _truncated_table,
        {{ columns_older_than('row._sequence', values, '`%s`.sequence') }} as _column_sequences
    from latest
{%- endmacro %}
