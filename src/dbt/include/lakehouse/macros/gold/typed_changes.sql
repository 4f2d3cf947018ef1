{#-
    Changes with every value that does not fit its column null and named in `_problems`; a deleted row keeps its key only.
    `_column_sequences` holds the columns that are older than the row: here those that a partial image does not carry.
-#}
{% macro typed_changes(changes, table) -%}
    {%- set is_kept = 'true' if table.options.get('on_delete') == 'flag' else "_operation <> 'delete'" -%}
    select
        {%- for column in table.columns if not column.name.startswith('_') %}
        {%- set name = adapter.quote(column.name) %}
        case when {% if column.name not in table.key %}{{ is_kept }} and {% endif %}{{ problem_name(column) }} is null then {{ name }} end as {{ name }},
        {%- endfor %}
        {{ problems_of_values(table.columns, where=is_kept) }} as _problems,
        {%- for column in table.columns if column.name.startswith('_') and column.name != '_problems' %}
        {{ column.name }},
        {%- endfor %}
        if(_operation = 'truncate', _source_table, null) as _truncated_table,
        case when {{ is_partial(table) }} then {{ adapter.columns_not_carried(table.reads, table.columns, table.key) }} end as _column_sequences,
        _is_replaced,
        xxhash64(_operation, map_entries(_image)) as _fingerprint
    from (
        {{ with_value_problems(changes, table.columns, table.reads) }}
    )
{%- endmacro %}

{#- Changes, and of each column why its value does not fit, in a step of its own: it is asked thrice, and worked out once. -#}
{% macro with_value_problems(changes, columns, reads={}) -%}
    select
        *
        {%- for column in columns if not column.name.startswith('_') %},
        {{ value_problem(column, reads.get(column.name, [])) }} as {{ problem_name(column) }}
        {%- endfor %}
    from (
        {{ changes }}
    )
{%- endmacro %}

{% macro problem_name(column) -%}
    {{ adapter.quote('_problem_of_' ~ column.name) }}
{%- endmacro %}

{#-
    Of changes `with_value_problems` the values that do not fit their columns: each column with a problem, its code and the text
    that the source sent. Spark does not compile what stands in a lambda, nor what is filtered by one.
-#}
{% macro problems_of_values(columns, where='true') -%}
    array_except(
        array(
            {%- for column in columns if not column.name.startswith('_') %}
            if(
                {{ problem_name(column) }} is not null and {{ where }},
                named_struct('column', {{ dbt.string_literal(column.name) }}, 'code', {{ problem_name(column) }}, 'text', {{ source_text(column) }}),
                null
            ){{ ',' if not loop.last }}
            {%- endfor %}
        ),
        array(cast(null as struct<column: string, code: string, text: string>))
    )
{%- endmacro %}

{#- A map of each column's name to the sequence that an expression gives for it: {column} is its name. -#}
{% macro sequences_by_column(columns, sequence) -%}
    cast(map(
        {%- for column in columns %}
        {{ dbt.string_literal(column.name) }}, {{ sequence | replace('{column}', column.name) }}{{ ',' if not loop.last }}
        {%- endfor %}
    ) as map<string, string>)
{%- endmacro %}

{#-
    Typed changes where some are partial. Where the format names no key, any update says that its old row is gone; if the new
    row has the same key, nothing went.
-#}
{% macro partial_changes(changes, table) -%}
    select
        * except (_column_sequences, _removed_key, _new_key),
        {{ columns_left_alone(table) }} as _column_sequences
    from (
        {{ with_keys_of_halves(changes, table) }}
    )
    where {{ is_no_half_of_its_row(table) }}
{%- endmacro %}

{#- Of changes `with_keys_of_halves` whether one is not the removed half of an update that keeps its key. -#}
{% macro is_no_half_of_its_row(table) -%}
    not (_operation = 'delete' and _new_key <=> struct({{ key_names(table.key) }}))
{%- endmacro %}

{#- The columns that a change leaves as they are: a row that another takes the place of has none left, unless it is kept to be shown. -#}
{% macro columns_left_alone(table) -%}
    {{ '_column_sequences' if table.options.get('on_delete') == 'flag' else 'if(_is_replaced and _new_key is not null, null, _column_sequences)' }}
{%- endmacro %}
