{#-
    For each key that this run has merged, all rows that the model shows of it now, and one row without content (`_is_gone`) for
    those that it showed before.
-#}
{% macro rows_of_touched_keys(table, found) -%}
    with touched as (
        select distinct {{ table.model.key.names() }} from changed_rows where _truncated_table is null
    )
    select _shown.*, _touched_key, _shown is null as _is_gone
    from (
        select struct(stored.*) as _shown, struct({{ table.model.key.names('stored.') }}) as _touched_key
        from {{ table.view }} as stored
        left semi join touched
            on {{ table.model.key.is_that_of('touched') }}
        where {{ table.touched_keys_can_be(found) }}
        union all
        select null, {{ table.model.key.as_one }} from touched
    )
{%- endmacro %}

{#- Take away what the table has of the touched keys and write what they have now, in one commit. -#}
{% macro merge_plain_rows(table, found) -%}
    merge into {{ table.plain }} as stored
    using plain_rows as changed
    on changed._is_gone
        and {{ table.model.key.is_that_of('changed._touched_key') }}
        and {{ table.touched_keys_can_be(found) }}
    when matched then delete
    when not matched and not changed._is_gone then insert *
{%- endmacro %}

{#-
    Where the table and the model differ, of the keys that this run has merged or of all: each row as the model shows it now, or
    `_is_gone`. A row that is the same is not written, so that the table's change feed has no change of it.
-#}
{% macro rows_that_differ(table, feed, found) -%}
    with
    {%- if found %} touched as (
        select distinct {{ table.model.key.names() }} from changed_rows where _truncated_table is null
    ),
    {%- endif %} shown as (
        {{ rows_to_compare(table, feed, found, table.view) }}
    ),
    kept as (
        {{ rows_to_compare(table, feed, found, table.plain) }}
    )
    select shown._row.*, coalesce(shown._identity, kept._identity) as _identity, shown._row is null as _is_gone
    from shown
    full outer join kept
        on shown._identity = kept._identity
    where not shown._content <=> kept._content
{%- endmacro %}

{% macro rows_to_compare(table, feed, found, relation) -%}
    select struct({{ feed.all_names }}) as _row, {{ feed.identity }} as _identity, {{ feed.content }} as _content
    from {{ relation }} as stored
    {%- if found %}
    left semi join touched
        on {{ table.model.key.is_that_of('touched') }}
    where {{ table.touched_keys_can_be(found) }}
    {%- endif %}
{%- endmacro %}

{#- Write what differs, in one commit, of which Delta's change feed tells each row before and after. -#}
{% macro merge_rows_that_differ(table, feed, found) -%}
    merge into {{ table.plain }} as stored
    using plain_rows as changed
    on {{ feed.is_that_of('changed._identity') }}
        and {{ table.touched_keys_can_be(found) }}
    when matched and changed._is_gone then delete
    when matched then update set *
    when not matched then insert *
{%- endmacro %}
