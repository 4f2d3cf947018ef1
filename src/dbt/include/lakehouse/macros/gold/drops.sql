{#-
    Typed changes, and for each DROP of a table that the model reads a marker as a TRUNCATE has it. They come from silver.events: a
    statement may drop several tables, and which of them the model reads its SQL says by their names alone. A table of which it
    reads nothing has no rows that its marker could remove.
-#}
{% macro with_drops(changes, table, sql) -%}
    {%- set tables = [] -%}
    {%- if table.options.on_drop == 'apply' -%}
        {%- for row in tables_of_model(drops_of_tables(table), sql) -%}
            {% do tables.append(text_literal([row['database_name'], row['schema_name'], row['table_name']] | reject('none') | join('.'))) %}
        {%- endfor -%}
    {%- endif -%}
    {{ changes }}
    {%- if tables %}
    union all
    {{ markers_of_drops(tables, table) }}
    {%- endif %}
{%- endmacro %}

{#- Which tables were dropped in a run's part of silver. -#}
{% macro drops_of_tables(table) -%}
    {%- set drops = [] -%}
    {%- for row in counts_of_new_changes(table.read, table.last) if row['drops'] -%}
        {% do drops.append(row) %}
    {%- endfor -%}
    {{ return(drops) }}
{%- endmacro %}

{#- The columns of `typed_changes`, in its order, of each DROP of the tables. -#}
{% macro markers_of_drops(tables, table) -%}
    {%- set known = ['_sequence', '_committed_at', '_operation', '_source_table', '_topic', '_partition', '_offset', '_row_number', '_bronze_version'] -%}
    select
        {%- for column in table.columns if not column.name.startswith('_') %}
        cast(null as {{ column.data_type }}) as {{ adapter.quote(column.name) }},
        {%- endfor %}
        cast(array() as array<struct<column: string, code: string, text: string>>) as _problems,
        {%- for column in table.columns if column.name.startswith('_') and column.name != '_problems' %}
        {{ column.name if column.name in known else 'cast(null as ' ~ column.data_type ~ ') as ' ~ adapter.quote(column.name) }},
        {%- endfor %}
        _source_table as _truncated_table,
        cast(null as map<string, string>) as _column_sequences,
        false as _is_replaced,
        xxhash64(_operation) as _fingerprint
    from (
        select
            sequence as _sequence,
            committed_at as _committed_at,
            'drop' as _operation,
            concat_ws('.', database_name, schema_name, table_name) as _source_table,
            topic as _topic,
            partition as _partition,
            offset as _offset,
            row_number as _row_number,
            bronze_version as _bronze_version
        from (
            select {{ names_of_dropped_table() }}, * except (database_name, schema_name, table_name)
            from (
                select *, explode(dropped_tables) as dropped from silver.events where {{ is_of_window(table.read, table.last) }}
            )
        )
    )
    where _source_table in ({{ tables | join(', ') }})
{%- endmacro %}

{#- The names of a table that a statement drops, `dropped`, or else those of its row of `events`. -#}
{% macro names_of_dropped_table() -%}
    coalesce(dropped.database_name, database_name) as database_name,
    coalesce(dropped.schema_name, schema_name) as schema_name,
    if(dropped is null, table_name, dropped.table_name) as table_name
{%- endmacro %}
