{#-
    Of typed changes the last of each key, in the order of the source; where some are partial, of each column of each key. Of one change
    that moves a key to and fro the new row wins; of changes that differ and share a sequence, the one delivered last.
-#}
{% macro latest_rows(table, profile) -%}
    {%- set key = table.key -%}
    {%- set values = value_columns(table.columns, key) if profile.partial else [] -%}
    with changed as (
        {{ profile.changes }}
    ),
    _latest as (
        select
            {%- for column in values %}
            max_by(
                struct(
                    {{ adapter.quote(column.name) }} as value,
                    {{ problems_of_column('changed._problems', column) }} as problems,
                    {{ column_sequence('changed', column) }} as sequence
                ),
                {{ order_of_changes(column_sequence('changed', column)) }}
            ) as {{ adapter.quote(column.name) }},
            {%- endfor %}
            max_by(struct(changed.*), {{ order_of_changes() }}) as _row
        from changed
        where _truncated_table is not null or ({{ key_is_known(key) }})
        group by {{ key_names(key) }}, _truncated_table, {{ operation_of_marker() }}
    )
    {%- if not profile.partial %}
    select _row.* from _latest
    {%- else %}
    select
        {%- for column in table.columns if column.name != '_problems' %}
        {%- set name = adapter.quote(column.name) %}
        {{ name ~ '.value' if column in values else '_row.' ~ name }} as {{ name }},
        {%- endfor %}
        {{ joined_problems(values, '`{column}`.problems') }} as _problems,
        _row._truncated_table as _truncated_table,
        _row._is_replaced as _is_replaced,
        _row._fingerprint as _fingerprint,
        {%- if profile.moves %}
        _row._is_followed as _is_followed,
        {%- endif %}
        {{ columns_older_than('_row._sequence', values, '`{column}`.sequence') }} as _column_sequences
    from _latest
    {%- endif %}
{%- endmacro %}

{#- A table has a marker of its last TRUNCATE and one of its last DROP. -#}
{% macro operation_of_marker(row='') -%}
    if({{ row }}_truncated_table is null, null, {{ row }}_operation)
{%- endmacro %}

{% macro order_of_changes(sequence='_sequence') -%}
    struct({{ sequence }}, not _is_replaced, _partition, _offset, _row_number)
{%- endmacro %}

{% macro problems_of_column(problems, column) -%}
    filter({{ problems }}, problem -> problem.column = {{ dbt.string_literal(column.name) }})
{%- endmacro %}

{#- The problems of a row from those of its columns, which an expression gives for each: {column} is its name. -#}
{% macro joined_problems(columns, problems) -%}
    flatten(array(
        cast(array() as array<struct<column: string, code: string, text: string>>)
        {%- for column in columns %},
        {{ problems | replace('{column}', column.name) }}
        {%- endfor %}
    ))
{%- endmacro %}

{#- The place in the source's order at which a column of a row was written last. -#}
{% macro column_sequence(row, column) -%}
    coalesce({{ row }}._column_sequences[{{ dbt.string_literal(column.name) }}], {{ row }}._sequence)
{%- endmacro %}

{#- The columns that are older than their row: a map of name to sequence, null if there are none. -#}
{% macro columns_older_than(sequence, columns, column_sequence) -%}
    {%- set older -%}
        map_filter(
            {{ sequences_by_column(columns, column_sequence) }},
            (name, written) -> written < {{ sequence }}
        )
    {%- endset -%}
    if(size({{ older }}) = 0, null, {{ older }})
{%- endmacro %}
