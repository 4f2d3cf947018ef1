{#- The changes that silver has processed for a model since its table has read them. -#}
{% macro new_changes(table) -%}
    select * from (
        {{ table.model.sql }}
    )
    where {{ table.is_new('_bronze_version') }}
{%- endmacro %}

{#- The same, their values typed, and the markers of what was dropped. -#}
{% macro new_typed_changes(table, drops) -%}
    {{ with_drops(typed_changes(new_changes(table), table.model), table, drops) }}
{%- endmacro %}

{#-
    Typed changes, and for each DROP of a table that the model reads a marker as a TRUNCATE has it. They come from silver.events: a
    statement may drop several tables, and which of them the model reads its SQL says by their names alone. A table of which it
    reads nothing has no rows that its marker could remove. `drops` is a condition on the markers.
-#}
{% macro with_drops(changes, table, drops) -%}
    {{ changes }}
    {%- if drops %}
    union all
    {{ markers_of_drops(table, drops) }}
    {%- endif %}
{%- endmacro %}

{#- The columns of `typed_changes`, in its order, of each DROP of some tables. -#}
{% macro markers_of_drops(table, drops) -%}
    select
        {{ table.model.marker -}}
        {{ table.model.no_problems }} as _problems,
        {{ table.model.change_of_marker }},
        _source_table as _truncated_table,
        cast(null as map<string, string>) as _column_sequences,
        cast(null as boolean) as _is_whole,
        false as _is_replaced,
        xxhash64(_operation) as _fingerprint
        {{- ', _known_at' if table.model.is_history }}
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
            bronze_version as _bronze_version,
            loaded_at as _known_at
        from (
            select {{ names_of_dropped_table() }}, * except (database_name, schema_name, table_name)
            from (
                select *, explode(dropped_tables) as dropped from silver.events where {{ table.is_new('bronze_version') }}
            )
        )
    )
    where {{ drops }}
{%- endmacro %}
