{#-
    A change wins over what is older in the source, however late it comes. Where some row, stored or new, has columns that are
    older than itself, each column is looked at on its own.
-#}
{% macro merge_latest_rows(table, found) -%}
    merge into {{ table.storage }} as stored
    using changed_rows as changed
    on {{ is_same_row(table.model.key) }} and {{ table.rows_can_be(found) }}
    {{ "when matched and changed._operation = 'forget' then delete" if table.model.options.retention }}
    {{ when_followed(table.model) if found.follows_keys }}
    when matched{{ ' and changed._column_sequences is null' if found.is_partial }} and ({{ is_newer(table.model.parts) }})
        then update set *
    {{ when_newer_in_part(table.model.parts) if found.is_partial }}
    when not matched then insert *
{%- endmacro %}

{% macro is_newer(parts) -%}
    changed._sequence > stored._sequence or ({{ parts.comes_after }})
{%- endmacro %}

{#- What following keys gives takes the place of what is stored, whatever its order. -#}
{% macro when_followed(model) -%}
    when matched and changed._is_followed and not {{ model.content('changed.') }} <=> {{ model.content('stored.') }}
        then update set *
{%- endmacro %}

{#- Of changes that share their place the one that was delivered last wins: its columns need not be newer then. -#}
{% macro when_newer_in_part(parts) -%}
    when matched and {{ parts.comes_after }}
        then update set
    {{ newer_values(parts, '>=') }}
    when matched and (changed._sequence > stored._sequence or exists({{ parts.of_values }}, name -> {{ is_newer_in('name', '>') }}))
        then update set
    {{ newer_values(parts, '>') }}
{%- endmacro %}

{% macro is_newer_in(name, than) -%}
    {{ sequence_of('changed', name) }} {{ than }} {{ sequence_of('stored', name) }}
{%- endmacro %}

{#- Of each value the newer one; of the row what the newer change says. -#}
{% macro newer_values(parts, than) -%}
    {%- for column in parts.values %}
    {{ column.sql }} = if({{ is_newer_in(column.literal, than) }}, changed.{{ column.sql }}, stored.{{ column.sql }}),
    {%- endfor %}
    {%- for column in parts.of_row %}
    {{ column.sql }} = if(changed._sequence {{ than }} stored._sequence, changed.{{ column.sql }}, stored.{{ column.sql }}),
    {%- endfor %}
    _problems = flatten(
        transform(
            {{ parts.of_values }},
            name -> filter(
                if({{ is_newer_in('name', than) }}, changed._problems, stored._problems),
                problem -> problem.column = name
            )
        )
    ),
    _column_sequences = {{ older_than('greatest(changed._sequence, stored._sequence)', greatest_places(parts)) }}
{%- endmacro %}

{% macro greatest_places(parts) -%}
    map_from_arrays(
        {{ parts.of_values }},
        transform({{ parts.of_values }}, name -> greatest({{ sequence_of('changed', 'name') }}, {{ sequence_of('stored', 'name') }}))
    )
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
