{% macro view_of_validated_rows(table) -%}
    create or replace view {{ table.validated }} as
    {{ validated_rows(merged_rows(table), table.validated_rows) }}
{%- endmacro %}

{#- Merged rows of a model with rules or derived columns: with these, with what the rules say, and whether one is held back. -#}
{% macro validated_rows(merged, rows) -%}
    select
        {{ rows.shown }},
        {{ rows.is_held }} as _is_held
    from (
        select
            {{ rows.derived_again }}
        from (
            select
                {{ rows.mended }}
            from (
                select
                    {{ rows.verdicts }}
                from (
                    select
                        {{ rows.derived }}
                    from (
                        {{ merged }}
                    )
                )
            )
        )
    )
{%- endmacro %}

{#- The model itself: the rows that no rule holds back. -#}
{% macro view_of_shown_rows(table) -%}
    create or replace view {{ table.view }} as
    select * except (_is_held)
    from {{ table.validated }}
    where not _is_held
{%- endmacro %}

{#- Of merged rows those that the model shows. -#}
{% macro shown_of(merged, table) -%}
    select * except (_is_held)
    from (
        {{ validated_rows(merged, table.validated_rows) }}
    )
    where not _is_held
{%- endmacro %}

{% macro view_of_held_rows(table) -%}
    create or replace view {{ table.held }} as
    select * except (_is_held)
    from {{ table.validated }}
    where _is_held
{%- endmacro %}

{#- How many rows are merged, and how many of these are shown and held; `deleted_keys` have no active row. -#}
{% macro view_of_accounting(table) -%}
    {%- set is_active = 'is_current' if table.model.is_history
        else 'not _is_deleted' if table.model.options.shows_deleted else 'true' -%}
    create or replace view {{ table.accounting }} as
    select
        {{ table.view.identifier | quoted }} as table_name,
        merged.merged_rows,
        (select count(*) from {{ table.view }}) as shown_rows,
        (select count(*) from {{ table.held }}) as held_rows,
        stored.stored_keys - merged.active_keys as deleted_keys
    from (
        select count(*) as merged_rows, count_if({{ is_active }}) as active_keys
        from (
            {{ merged_rows(table) }}
        )
    ) as merged
    cross join (
        select count(distinct {{ table.model.key.as_one }}) as stored_keys
        from {{ table.storage }}
        where _truncated_table is null
    ) as stored
{%- endmacro %}
