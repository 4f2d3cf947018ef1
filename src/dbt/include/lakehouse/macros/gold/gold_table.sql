{#-
    What a run of a gold model works with: its relations, key, options and columns, whether its table has to be made or built
    anew, and from which version of bronze up to which silver has changes that it has not read.
-#}
{% macro gold_table(sql, further_columns) -%}
    {%- set key = primary_key(model) -%}
    {%- set options = gold_options(model, key) -%}
    {#- It decides nothing of what the table itself holds. -#}
    {%- set has_plain_table = options.pop('plain_table') -%}
    {%- set columns = gold_columns(model) -%}
    {% do adapter.expect_columns(columns | length) %}
    {%- set storage = api.Relation.create(schema=this.schema ~ '_storage', identifier=this.identifier, type='table') -%}
    {%- set events = api.Relation.create(schema='silver', identifier='events') -%}
    {%- set stored_columns = [] -%}
    {%- for is_own in [false, true] -%}
        {%- for column in columns + further_columns if column.name.startswith('_') == is_own -%}
            {% do stored_columns.append(column) %}
        {%- endfor -%}
    {%- endfor -%}
    {%- set definition = definition_of_gold_table(sql, key, options, columns) -%}
    {%- set exists = has_table_of_kind(storage, model.config.materialized) -%}
    {%- set rebuild = exists and (
        should_full_refresh()
        or has_changed_columns(storage, stored_columns)
        or has_changed_definition(storage, definition)
        or has_resettled_changes(storage, events, sql)
        or has_unfollowed_moves(storage)
    ) -%}
    {{ return({
        'view': this.incorporate(type='view'),
        'storage': storage,
        'key': key,
        'options': options,
        'has_plain_table': has_plain_table,
        'columns': columns,
        'stored_columns': stored_columns,
        'properties': {
            'delta.enableDeletionVectors': 'true',
            'cdc_lakehouse.definition': definition,
            'cdc_lakehouse.kind': model.config.materialized,
            'cdc_lakehouse.partial_rows': 'none',
            'cdc_lakehouse.partial_moves': 'none',
        },
        'exists': exists,
        'rebuild': rebuild,
        'is_part': adapter.reads_a_part_only(sql),
        'read': adapter.watermark(storage, 'silver.events') if exists and not rebuild else none,
        'last': adapter.watermark(events, 'bronze.messages'),
    }) }}
{%- endmacro %}

{#- Whether the table exists; one of another materialization is dropped, for its columns mean something else. -#}
{% macro has_table_of_kind(storage, kind) -%}
    {%- set exists = adapter.adopt(storage, load_relation(storage) is not none) -%}
    {%- if exists and adapter.table_property(storage, 'cdc_lakehouse.kind') != kind -%}
        {% do log(storage ~ ' is made anew: it was of another materialization', info=true) %}
        {% do adapter.remove_table(storage) %}
        {{ return(false) }}
    {%- endif -%}
    {{ return(exists) }}
{%- endmacro %}

{#- A name for all that decides what the table holds; notes in the SQL, blanks and line ends do not. -#}
{% macro definition_of_gold_table(sql, key, options, columns) -%}
    {%- set statement = [] -%}
    {%- for line in sql.splitlines() if not line.strip().startswith('--') -%}
        {% do statement.extend(line.split()) %}
    {%- endfor -%}
    {%- set sources = [] -%}
    {%- for column in columns -%}
        {% do sources.append(source_name(column) ~ (' inferred' if is_inferred(column) else '')) %}
    {%- endfor -%}
    {{ return(local_md5(tojson([statement, key, options, sources]))) }}
{%- endmacro %}

{% macro has_changed_definition(storage, definition) -%}
    {%- set changed = adapter.table_property(storage, 'cdc_lakehouse.definition') != definition -%}
    {%- if changed -%}
        {% do log(storage ~ ' is built anew: its SQL, its key or its options have changed', info=true) %}
    {%- endif -%}
    {{ return(changed) }}
{%- endmacro %}

{#- Whether a table with partial rows is from before moved rows kept the columns that their change does not carry. -#}
{% macro has_unfollowed_moves(storage) -%}
    {%- set unfollowed = adapter.table_property(storage, 'cdc_lakehouse.partial_moves') is none
        and adapter.table_property(storage, 'cdc_lakehouse.partial_rows') != 'none' -%}
    {%- if unfollowed -%}
        {% do log(storage ~ ' is built anew: rows whose primary key has changed keep more columns', info=true) %}
    {%- endif -%}
    {{ return(unfollowed) }}
{%- endmacro %}

{#- Whether changes that the table has read were settled otherwise since. -#}
{% macro has_resettled_changes(storage, events, sql) -%}
    {%- set versions = adapter.resettled_tables(events) -%}
    {%- if not versions -%}
        {{ return(false) }}
    {%- endif -%}
    {%- set read, last = adapter.watermark(storage, 'silver.events'), adapter.watermark(events, 'bronze.messages') -%}
    {%- set tables = [] -%}
    {%- for names, version in versions.items() if read is not none and version > read and version <= last -%}
        {%- set database, schema, table = fromjson(names) -%}
        {% do tables.append({'database_name': database, 'schema_name': schema, 'table_name': table, 'changes': 1}) %}
    {%- endfor -%}
    {%- set resettled = changes_of_model(tables, sql) > 0 -%}
    {%- if resettled -%}
        {% do log(storage ~ ' is built anew: messages of its source tables were settled anew', info=true) %}
    {%- endif -%}
    {{ return(resettled) }}
{%- endmacro %}

{#- Make the empty table and the views on it, where they are missing or no longer fit. -#}
{% macro prepare_gold_table(table, sql, view_of_rows) -%}
    {%- if not table.exists -%}
        {% do adapter.create_schema(table.storage) %}
        {% do run_query(create_delta_table(table.storage, table.stored_columns, table.properties, table.options.cluster_by)) %}
    {%- endif -%}
    {#-
        The view of problems is made last: where it is, a run that was killed has made the others. A part of the sources must
        not take the place of what the views read.
    -#}
    {%- set last_view = table.storage.incorporate(path={'identifier': table.storage.identifier ~ '_problems'}) -%}
    {%- if not table.exists or (not table.is_part and (table.rebuild or load_cached_relation(this) is none or load_relation(last_view) is none)) -%}
        {% do run_query('create or replace view ' ~ table.view ~ ' with schema evolution as ' ~ view_of_rows) %}
        {% do run_query(create_view_of_rows_without_key(table, sql)) %}
        {%- if model.config.materialized == 'history' -%}
            {% do run_query(create_function_as_of(table)) %}
        {%- endif -%}
        {% do run_query(create_view_of_problems(table)) %}
        {% do apply_grants(table.view, config.get('grants')) %}
    {%- endif -%}
{%- endmacro %}

{#- Write the rows of a table that is new or built anew, and how far silver has been read, in one commit. -#}
{% macro write_new_rows(table, rows) -%}
    {%- if table.rebuild -%}
        {{ write_gold_table(table, replace_delta_table(table.storage, table.stored_columns, rows, table.properties, table.options.cluster_by)) }}
    {%- else -%}
        {{ write_gold_table(table, insert_by_name(table.storage, table.stored_columns, rows)) }}
    {%- endif -%}
{%- endmacro %}

{#- Run the statement that writes a table, and commit with it how far silver has been read; a MERGE of staged rows says so. -#}
{% macro write_gold_table(table, statement_text, is_staged=false) -%}
    {{ write_and_commit(statement_text, table.storage, 'silver.events', table.last, rebuild=table.rebuild, is_staged=is_staged) }}
{%- endmacro %}
