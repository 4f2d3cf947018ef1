{#-
    Bring the stored rows up to date: a change wins over what is older in the source, however late it comes.
    Where some row, stored or new, has columns that are older than itself, each column is looked at on its own.
-#}
{% macro merge_rows(table, profile) -%}
    {%- set values = value_columns(table.columns, table.key) -%}
    {%- set forgets = table.options.tombstone_retention is not none -%}
    merge into {{ table.storage }} as stored
    using changed_rows as changed
    on {{ is_same_row(table.key) }}
        {%- if not forgets %} and {{ where_rows_can_be(profile) }}{% endif %}
    {%- if forgets %}
    when matched and changed._operation = 'forget' then delete
    {%- endif %}
    {%- if profile.moves %}
    when matched and changed._is_followed and not {{ content_of_row('changed.', table) }} <=> {{ content_of_row('stored.', table) }}
        then update set *
    {%- endif %}
    when matched
        {%- if profile.partial %} and changed._column_sequences is null{% endif %}
        and {{ is_newer() }}
        then update set *
    {%- if profile.partial %}
    when matched
        and ({{ is_newer() }}{% for column in values %} or {{ is_newer(column) }}{% endfor %})
        then update set {{ newer_columns(table.columns, values) }}
    {%- endif %}
    when not matched then insert *
{%- endmacro %}

{#- What a row says, but for which copy of a change was read. -#}
{% macro content_of_row(row, table) -%}
    struct(
        {{ row }}_sequence, {{ row }}_operation, {{ row }}_fingerprint, {{ row }}_problems, map_entries({{ row }}_column_sequences)
        {{- comparable(value_columns(table.columns, table.key), row) }}
    )
{%- endmacro %}

{% macro is_same_row(key) -%}
    {{ has_key_of('changed', key) }} and stored._truncated_table <=> changed._truncated_table
    and {{ operation_of_marker('stored.') }} <=> {{ operation_of_marker('changed.') }}
{%- endmacro %}

{#- Where in the stored table a run's changes can have rows, so that Delta leaves out the files that cannot. -#}
{% macro where_rows_can_be(profile) -%}
    ({{ profile['keys'] }}{% if profile.truncates %} or stored._truncated_table is not null{% endif %})
{%- endmacro %}

{#- Whether the changed row, or one column of it, is newer than the stored. -#}
{% macro is_newer(column=none) -%}
    {%- set changed = column_sequence('changed', column) if column else 'changed._sequence' -%}
    {%- set stored = column_sequence('stored', column) if column else 'stored._sequence' -%}
    ({{ changed }} > {{ stored }} or ({{ changed }} = {{ stored }} and {{ comes_after() }}))
{%- endmacro %}

{#-
    Whether the changed row comes after the stored one of the same sequence. A copy, which has the same content, does not; of
    two different changes that share a sequence the delivery decides.
-#}
{% macro comes_after() -%}
    changed._sequence = stored._sequence
    and changed._fingerprint <> stored._fingerprint
    and struct(not changed._is_replaced, changed._partition, changed._offset, changed._row_number)
    > struct(not stored._is_replaced, stored._partition, stored._offset, stored._row_number)
{%- endmacro %}

{#- Of each column the newer value; of the row what the newer change says. -#}
{% macro newer_columns(columns, values) -%}
    {%- for column in values %}
        {{ adapter.quote(column.name) }} = if({{ is_newer(column) }}, changed.{{ adapter.quote(column.name) }}, stored.{{ adapter.quote(column.name) }}),
    {%- endfor %}
    {%- for column in columns + merge_columns() if column.name.startswith('_') and column.name not in ['_problems', '_column_sequences'] %}
        {{ column.name }} = if({{ is_newer() }}, changed.{{ column.name }}, stored.{{ column.name }}),
    {%- endfor %}
        _problems = {{ joined_problems(
            values, problems_of_column('if(' ~ is_newer({'name': '{column}'}) ~ ', changed._problems, stored._problems)', {'name': '{column}'})
        ) }},
        _column_sequences = {{ columns_older_than(
            'greatest(changed._sequence, stored._sequence)', values, 'greatest(' ~ column_sequence('changed', {'name': '{column}'}) ~ ', ' ~ column_sequence('stored', {'name': '{column}'}) ~ ')'
        ) }}
{%- endmacro %}

{#- Whether some stored row has columns that are older than itself; most tables never had one, and say so. -#}
{% macro has_partial_rows(storage) -%}
    {%- if adapter.table_property(storage, 'cdc_lakehouse.partial_rows') == 'none' -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set rows = run_query('select 1 from ' ~ storage ~ ' where _column_sequences is not null limit 1').rows -%}
    {{ return(rows | length > 0) }}
{%- endmacro %}

{#- Let a table say, before it has them, that it may have rows of a kind: `property` tells which, `none` until then. -#}
{% macro note_some(table, property, some='some') -%}
    {%- if table.rebuild -%}
        {% do table.properties.update({property: some}) %}
    {%- elif adapter.table_property(table.storage, property) != some -%}
        {% do run_query('alter table ' ~ table.storage ~ ' set ' ~ table_settings({property: some})) %}
    {%- endif -%}
{%- endmacro %}

{#- Whether a stored row has the key of another row. -#}
{% macro has_key_of(row, key) -%}
    {%- for name in key %}stored.{{ adapter.quote(name) }} <=> {{ row }}.{{ adapter.quote(name) }}{{ ' and ' if not loop.last }}{% endfor -%}
{%- endmacro %}
