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
