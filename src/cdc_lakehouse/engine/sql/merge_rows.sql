{#-
    A change wins over what is older in the source, however late it comes. Where some row, stored or new, has columns that are
    older than itself, each column is looked at on its own.
-#}
{% macro merge_latest_rows(table, found) -%}
    merge into {{ table.storage }} as stored
    using changed_rows as changed
    on {{ is_same_row(table.model.key) }} and {{ table.rows_can_be(found) }}
    {{ "when matched and changed._operation = 'forget' then delete" if table.model.options.retention }}
    {{ when_followed(table.model) if found.follows_moves }}
    when matched{{ ' and changed._column_sequences is null' if found.is_partial }} and {{ table.model.parts.is_newer }}
        then update set *
    {{ when_newer_in_part(table.model.parts) if found.is_partial }}
    when not matched then insert *
{%- endmacro %}

{#- What following moves gives takes the place of what is stored, whatever its order. -#}
{% macro when_followed(model) -%}
    when matched and changed._is_followed and not {{ model.content('changed.') }} <=> {{ model.content('stored.') }}
        then update set *
{%- endmacro %}

{% macro when_newer_in_part(parts) -%}
    when matched and ({{ parts.is_newer_somewhere }})
        then update set
    {{ parts.newer_values }}
{%- endmacro %}

{% macro is_same_row(key) -%}
    {{ key.is_that_of('changed') }} and stored._truncated_table <=> changed._truncated_table
    and if(stored._truncated_table is null, null, stored._operation) <=> if(changed._truncated_table is null, null, changed._operation)
{%- endmacro %}

{#- Write new changes, and those stored ones whose version they change. -#}
{% macro merge_versions(table, found) -%}
    merge into {{ table.storage }} as stored
    using changed_rows as changed
    on {{ is_same_row(table.model.key) }}
        and stored._sequence = changed._sequence and stored._fingerprint = changed._fingerprint
        {{- ' and ' ~ found.keys if not found.truncates }}
    {{ "when matched and changed._operation = 'forget' then delete" if found.forgets }}
    when matched then update set *
    when not matched then insert *
{%- endmacro %}
