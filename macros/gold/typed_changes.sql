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
    row has the same key, nothing went. If it has another, what a partial image does not carry of it is known to no message: it
    is null, and named.
-#}
{% macro partial_changes(changes, table) -%}
    {%- set kept_key = 'struct(' ~ key_names(table.key) ~ ')' -%}
    select
        * except (_problems, _column_sequences, _removed_key, _new_key),
        if(
            _is_moved,
            concat(_problems, transform(
                map_keys(_column_sequences), name -> named_struct('column', name, 'code', 'not_carried', 'text', cast(null as string))
            )),
            _problems
        ) as _problems,
        if(_is_moved{% if table.options.get('on_delete') != 'flag' %} or (_is_replaced and _new_key is not null){% endif %}, null, _column_sequences) as _column_sequences
    from (
        select
            *,
            _column_sequences is not null and _removed_key is not null and not _removed_key <=> {{ kept_key }} as _is_moved
        from (
            select
                *,
                max(if(_operation = 'delete' and {{ key_is_known(table.key) }}, {{ kept_key }}, null)) over message_row as _removed_key,
                max(if(_operation not in ('delete', 'truncate'), {{ kept_key }}, null)) over message_row as _new_key
            from (
                {{ changes }}
            )
            window message_row as (partition by _topic, _partition, _offset, _row_number)
        )
    )
    where not (_operation = 'delete' and _new_key <=> {{ kept_key }})
{%- endmacro %}

