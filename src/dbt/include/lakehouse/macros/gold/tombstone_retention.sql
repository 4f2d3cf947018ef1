{#- A run's rows, and the tombstones to forget: those that it does not touch and that are past their retention. -#}
{% macro and_expired_tombstones(rows, table, profile) -%}
    {%- if table.options.tombstone_retention is none -%}
        {{ rows }}
    {%- else -%}
        with changed as (
            {{ rows }}
        )
        select {{ column_names(table.stored_columns) }}{% if profile.moves %}, _is_followed{% endif %} from changed
        union all
        select
            {%- for column in table.stored_columns %}
            {{ "'forget' as _operation" if column.name == '_operation' else 'stored.' ~ adapter.quote(column.name) }}{{ ',' if not loop.last }}
            {%- endfor %}
            {%- if profile.moves %},
            false as _is_followed
            {%- endif %}
        from {{ table.storage }} as stored
        left anti join changed
            on {{ is_same_row(table.key) }}
        where {{ is_expired_tombstone(table.options) }}
    {%- endif -%}
{%- endmacro %}

{#- A run's rows without tombstones that are past their retention: what a merge would forget, a new table does not store. -#}
{% macro without_expired_tombstones(rows, table) -%}
    {%- if table.options.tombstone_retention is none -%}
        {{ rows }}
    {%- else -%}
        select * from (
            {{ rows }}
        ) as stored
        where not ({{ is_expired_tombstone(table.options) }})
    {%- endif -%}
{%- endmacro %}

{#-
    Counted from when silver settled the delete, not from when the source committed it: an old topic that is read for the
    first time brings its late changes with it.
-#}
{% macro is_expired_tombstone(options) -%}
    {%- set version = run_query(
        'select coalesce(max(bronze_version), -1) from silver.events where loaded_at < current_timestamp() - interval ' ~ options.tombstone_retention
    ).rows[0][0] -%}
    stored._operation = 'delete' and stored._bronze_version <= {{ version }}
{%- endmacro %}
