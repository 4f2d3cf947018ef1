{#- The changes that silver has settled after version `read` of bronze, up to version `last`. -#}
{% macro new_changes(sql, table) -%}
    select * from (
        {{ sql }}
    )
    where _bronze_version <= {{ table.last }}{% if table.read is not none %} and _bronze_version > {{ table.read }}{% endif %}
{%- endmacro %}

{#-
    What a run is about to write: `count` of the changes, whether some are `partial` (do not carry all columns; or stored rows
    do not) or `truncates`, and `keys`, a condition on stored rows that file statistics can decide: where the keys can be.
    Of a run that merges, the changes with their values typed are staged as `new_changes`.
-#}
{% macro profile_of_changes(table, sql) -%}
    {%- if table.read is none -%}
        {% do table.update(reads=adapter.columns_read(sql, table.columns)) %}
        {% do adapter.expect_new_rows(api.Relation.create(schema='silver', identifier='events'), none) %}
        {{ assert_gold_contract(sql, table.columns) }}
        {{ name_query('new_changes', new_changes(sql, table)) }}
        {%- set partial = has_partial_changes(sql, table) -%}
        {%- set changes = with_drops(typed_changes('select * from new_changes', table), table, sql) -%}
        {%- set followed = none -%}
        {%- if partial -%}
            {{ note_some(table, 'cdc_lakehouse.partial_rows') }}
            {%- set followed = followed_changes(table, sql, changes) -%}
            {%- set changes = followed or partial_changes(changes, table) -%}
        {%- endif -%}
        {{ return({'partial': partial, 'moves': followed is not none, 'changes': changes}) }}
    {%- endif -%}
    {%- set most = most_new_changes(sql, table) -%}
    {%- if most == 0 -%}
        {{ return({'count': 0}) }}
    {%- endif -%}
    {% do table.update(reads=adapter.columns_read(sql, table.columns)) %}
    {% do adapter.expect_changes(most, table.storage) %}
    {%- set few = most <= 32 -%}
    {{ stage_rows('new_changes', with_drops(typed_changes(new_changes(sql, table), table), table, sql)) }}
    {%- set row = run_query(summary_of_changes('new_changes', table.key, few)).rows[0] -%}
    {%- if row['partial_changes'] -%}{{ note_some(table, 'cdc_lakehouse.partial_rows') }}{%- endif -%}
    {%- set followed = followed_changes(table, sql, 'select * from new_changes') if has_partial_moves(table, sql, row) else none -%}
    {%- if followed is not none -%}
        {%- set few = false -%}
        {{ stage_rows('new_changes', followed) }}
        {%- set row = run_query(summary_of_changes('new_changes', table.key, few)).rows[0] -%}
    {%- endif -%}
    {%- set partial = followed is not none or row['partial_changes'] > 0 or has_partial_rows(table.storage) -%}
    {{ return({
        'count': row['changes'],
        'partial': partial,
        'moves': followed is not none,
        'truncates': row['truncates'] > 0,
        'keys': 'false' if row['first_0'] is none else where_keys_are(table.columns, table.key, row, few),
        'changes': partial_changes('select * from new_changes', table) if partial and followed is none else 'select * from new_changes',
    }) }}
{%- endmacro %}

{% macro summary_of_changes(changes, key, few) -%}
    select
        count(*) as changes,
        count_if(_column_sequences is not null) as partial_changes,
        count_if(_is_replaced) as replaced_rows,
        count_if(_truncated_table is not null) as truncates
        {%- for name in key %},
        left(cast(min({{ adapter.quote(name) }}) as string), 1000) as first_{{ loop.index0 }},
        left(cast(max({{ adapter.quote(name) }}) as string), 1000) as last_{{ loop.index0 }},
        max(length(cast({{ adapter.quote(name) }} as string))) <= 1000 as is_short_{{ loop.index0 }}
        {%- endfor %}
        {%- if few %},
        to_json(collect_set(left(cast({{ adapter.quote(key[0]) }} as string), 1000))) as keys
        {%- endif %}
    from {{ changes }}
{%- endmacro %}

{#-
    Whether a change leaves columns as they were, because its image does not carry what they are made from: an update can, whatever
    its format says of its images, and so can the removed half of one, and a delete whose row is kept to be shown. What an
    insert does not carry is null, for it begins a row: what was there before is gone.
-#}
{% macro is_partial(table) -%}
    (_is_replaced or _operation in ('update'{{ ", 'delete'" if table.options.get('on_delete') == 'flag' }}))
    and not ({{ adapter.carries_all(table.reads) }})
{%- endmacro %}

{#-
    Whether some of a new table's changes are partial, which only their images tell. A table without updates has none, of which
    silver is asked once a run for all tables.
-#}
{% macro has_partial_changes(sql, table) -%}
    {%- set updated = counted(counts_of_new_changes(table.read, table.last), 'updates') -%}
    {{ return(
        changes_of_model(updated, sql) > 0
        and run_query('select 1 from new_changes where ' ~ is_partial(table) ~ ' limit 1').rows | length > 0
    ) }}
{%- endmacro %}

{#-
    A few keys are named, of many the first and the last: Delta skips the files that can hold none of them. Not those of a column
    with a value that is too long for a statement.
-#}
{% macro where_keys_are(columns, key, row, few) -%}
    {%- set conditions = [] -%}
    {%- for column in columns if column.name in key and has_file_statistics(column.data_type) and row['is_short_' ~ key.index(column.name)] -%}
        {%- set name, place = 'stored.' ~ adapter.quote(column.name), key.index(column.name) -%}
        {%- if few and place == 0 -%}
            {%- set values = [] -%}
            {%- for value in fromjson(row['keys']) -%}
                {% do values.append(name ~ ' = ' ~ value_of_type(value, column.data_type)) %}
            {%- endfor -%}
            {% do conditions.append('(' ~ values | join(' or ') ~ ')') %}
        {%- else -%}
            {% do conditions.append(
                name ~ ' between ' ~ value_of_type(row['first_' ~ place], column.data_type)
                ~ ' and ' ~ value_of_type(row['last_' ~ place], column.data_type)
            ) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(conditions | join(' and ') or 'true') }}
{%- endmacro %}

{#- Whether Delta keeps the first and the last value of a file, and their text reads back as the same value. -#}
{% macro has_file_statistics(data_type) -%}
    {{ return(modules.re.match('(tinyint|smallint|int|bigint|decimal|string|date|timestamp)', data_type | lower) is not none) }}
{%- endmacro %}

{% macro value_of_type(text, data_type) -%}
    cast({{ text_literal(text) }} as {{ data_type }})
{%- endmacro %}

{#-
    The most changes that can be new for a model, from what silver counts once a run for all tables; none says that its part of
    silver need not be read. Told where the model reads row_images once and picks its tables by their names alone.
-#}
{% macro most_new_changes(sql, table) -%}
    {{ return(changes_of_model(counts_of_new_changes(table.read, table.last), sql)) }}
{%- endmacro %}

{#- Of changes counted by source table, the most that a model can read. -#}
{% macro changes_of_model(counts, sql) -%}
    {{ return(tables_of_model(counts, sql) | sum(attribute='changes')) }}
{%- endmacro %}

{#- Of changes counted by source table those of a kind, where there are any. -#}
{% macro counted(counts, kind) -%}
    {%- set found = [] -%}
    {%- for row in counts if row[kind] -%}
        {% do found.append({
            'database_name': row['database_name'],
            'schema_name': row['schema_name'],
            'table_name': row['table_name'],
            'changes': row[kind],
        }) %}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro %}

{#- Of changes counted by source table, those of the tables that a model can read. -#}
{% macro tables_of_model(counts, sql) -%}
    {%- set from_silver = sql.split(api.Relation.create(schema='silver', identifier='row_images') | string) -%}
    {%- set where = modules.re.sub("('[^']*')|--[^\n]*", '\\1', from_silver[1]) if from_silver | length == 2 else none -%}
    {%- if not counts -%}
        {{ return([]) }}
    {%- elif where is none or not asks_for_names_only(where) -%}
        {{ return(counts) }}
    {%- endif -%}
    {%- set tables = [] -%}
    {%- for row in counts -%}
        {%- set names = [] -%}
        {%- for name in [row['database_name'], row['schema_name'], row['table_name']] -%}
            {% do names.append('cast(null as string)' if name is none else value_of_type(name, 'string')) %}
        {%- endfor -%}
        {% do tables.append('(' ~ names | join(', ') ~ ', ' ~ row['changes'] ~ ')') %}
    {%- endfor -%}
    {{ return(run_query(
        "select * from (select *, concat_ws('.', database_name, schema_name, table_name) as source_table from values "
        ~ tables | join(', ') ~ ' as counts(database_name, schema_name, table_name, changes)) ' ~ where
    ).rows) }}
{%- endmacro %}

{#- Whether what follows a model's `from` is a where clause, or nothing, that the names of a table can answer. -#}
{% macro asks_for_names_only(where) -%}
    {%- set clause = modules.re.sub("'[^']*'", '', where) | lower -%}
    {%- set unnested = modules.re.sub('[(][^()]*[)]', '', modules.re.sub('[(][^()]*[)]', '', clause)) -%}
    {%- set words = modules.re.findall('[a-z_]+', clause) -%}
    {%- set known = [
        'where', 'and', 'or', 'not', 'in', 'like', 'rlike', 'between', 'is', 'null',
        'database_name', 'schema_name', 'table_name', 'source_table',
    ] -%}
    {{ return(
        words[:1] in ([], ['where'])
        and words | reject('in', known) | list | length == 0
        and not modules.re.search('[()]', unnested)
        and '\\' not in where
    ) }}
{%- endmacro %}

{#-
    How many changes silver has settled after version `read` up to version `last`, by source table, how many of rows that were there,
    and how many are halves of updates;
    and in rows of their own how many times a table was dropped.
-#}
{% macro counts_of_new_changes(read, last) -%}
    {%- set counts -%}
        select {{ names_of_dropped_table() }}, changes, updates, halves, if(dropped is null, 0, changes) as drops
        from (
            select
                database_name, schema_name, table_name, explode_outer(dropped_tables) as dropped, count(*) as changes,
                count_if(operation not in ('snapshot', 'insert')) as updates,
                count_if(operation in ('update_before', 'update_after')) as halves
            from silver.events
            where {{ is_of_window(read, last) }} and (kind in ('row_change', 'truncate') or dropped_tables is not null)
            group by database_name, schema_name, table_name, dropped_tables
        )
        where dropped is null or dropped.table_name is not null
    {%- endset -%}
    {{ return(adapter.rows_asked_once(counts)) }}
{%- endmacro %}

{#- Which events silver has settled after version `read` of bronze, up to version `last`. -#}
{% macro is_of_window(read, last) -%}
    bronze_version <= {{ last }}{% if read is not none %} and bronze_version > {{ read }}{% endif %}
{%- endmacro %}
