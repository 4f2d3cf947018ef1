{#- Where tombstones are forgotten: a run's rows, and the tombstones to forget: those that it does not touch and that are past their retention. -#}
{% macro and_expired_tombstones(rows, table, found) -%}
    with changed as (
        {{ rows }}
    )
    select {{ table.model.stored_names }}{{ ', _is_followed' if found.follows_keys }} from changed
    union all
    select
        {{ table.model.row_with("'forget'", 'stored.') }}
        {{- ', false as _is_followed' if found.follows_keys }}
    from {{ table.storage }} as stored
    left anti join changed
        on {{ is_same_row(table.model.key) }}
    where {{ is_expired_tombstone(table.model.options) }}
{%- endmacro %}

{#- A run's rows without tombstones that are past their retention: what a merge would forget, a new table does not store. -#}
{% macro without_expired_tombstones(rows, model) -%}
    select * from (
        {{ rows }}
    ) as stored
    where not ({{ is_expired_tombstone(model.options) }})
{%- endmacro %}

{#-
    Counted from when silver processed the delete, not from when the source committed it: an old topic that is read for the
    first time brings its late changes with it.
-#}
{% macro is_expired_tombstone(options) -%}
    stored._operation = 'delete'
    and stored._bronze_version <= (
        select coalesce(max(bronze_version), -1)
        from silver.events
        where loaded_at < current_timestamp() - interval {{ options.retention }}
    )
{%- endmacro %}
