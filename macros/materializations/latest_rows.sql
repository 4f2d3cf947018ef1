{#- The changes that silver has settled after version `read` of bronze, up to version `last`. -#}
{% macro new_changes(sql, read, last) -%}
    select * from (
        {{ sql }}
    )
    where _bronze_version <= {{ last }}{% if read is not none %} and _bronze_version > {{ read }}{% endif %}
{%- endmacro %}

{#- How many changes there are, and how many of them do not carry all columns. -#}
{% macro count_of_changes(changes) -%}
    select
        count(*) as changes,
        count_if(not _image_is_complete) as partial_changes
    from (
        {{ changes }}
    )
{%- endmacro %}

{#-
    Changes with every value that does not fit its column null and named in `_problems`; a deleted row keeps its key only.
    `_column_sequences` holds the columns that are older than the row: here those that a partial image does not carry.
-#}
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
        if(_operation = 'truncate', _source_table, null) as _truncated_table,
        if(
            _image_is_complete or _operation in ('delete', 'truncate'),
            null,
            map_filter(
                map(
                    {%- for column in value_columns(columns, key) %}
                    '{{ column.name }}', if(map_contains_key(_image, {{ source_name(column) }}), _sequence, ''){{ ',' if not loop.last }}
                    {%- else %}'', _sequence
                    {%- endfor %}
                ),
                (name, sequence) -> sequence < _sequence
            )
        ) as _column_sequences
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
        select max_by(struct(*), {{ order_of_changes() }}) as latest
        from (
            {{ typed_changes(changes, columns, key) }}
        )
        where _truncated_table is not null or ({{ key_is_known(key) }})
        group by {% for name in key %}{{ adapter.quote(name) }}, {% endfor %}_truncated_table
    )
{%- endmacro %}

{% macro order_of_changes(sequence='_sequence') -%}
    struct({{ sequence }}, _operation <> 'delete', -_partition, -_offset)
{%- endmacro %}

{% macro key_is_known(key) -%}
    {%- for name in key %}{{ adapter.quote(name) }} is not null{{ ' and ' if not loop.last }}{% endfor %}
{%- endmacro %}

{#- The columns of a gold table that are neither of its key nor of `change_columns`. -#}
{% macro value_columns(columns, key) -%}
    {%- set found = [] -%}
    {%- for column in columns if column.name not in key and not column.name.startswith('_') -%}
        {% do found.append(column) %}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro %}
