{#-
    The current rows of a source table. The model is a projection of one row image; its YAML names the key. All rows,
    those of deleted keys as tombstones and one marker per truncated table, are kept in the schema gold_storage under the
    model's name, which one Delta commit a run brings up to date; the model itself is the view of the rows that live.
    A change that does not carry all columns changes those it carries; only then are columns looked at one by one.
-#}
{% materialization current_state, adapter='lakehouse' %}

    {%- set key = primary_key(model) -%}
    {%- set columns = gold_columns(model) -%}
    {%- set stored_columns = columns + [
        {'name': '_truncated_table', 'data_type': 'string'},
        {'name': '_column_sequences', 'data_type': 'map<string, string>'},
    ] -%}
    {%- set view = this.incorporate(type='view') -%}
    {%- set storage = api.Relation.create(schema=this.schema ~ '_storage', identifier=this.identifier, type='table') -%}
    {%- set events = api.Relation.create(schema='silver', identifier='events') -%}
    {%- set exists = load_relation(storage) is not none -%}
    {%- set rebuild = exists and (should_full_refresh() or has_changed_columns(storage, stored_columns)) -%}
    {%- set last = adapter.watermark(events, 'bronze.messages') -%}
    {%- set read = adapter.watermark(storage, 'silver.events') if exists and not rebuild else none -%}

    {{ run_hooks(pre_hooks) }}

    {%- if not exists -%}
        {% do adapter.create_schema(storage) %}
        {% do run_query(create_delta_table(storage, stored_columns, {'delta.enableDeletionVectors': 'true'})) %}
    {%- endif -%}
    {%- if load_cached_relation(this) is none or rebuild -%}
        {% do run_query(create_view_of_living_rows(view, storage)) %}
        {% do run_query(create_view_of_rows_without_key(storage, sql, columns, key)) %}
    {%- endif -%}

    {%- if read is not none and read == last -%}
        {{ nothing_new() }}
    {%- else -%}
        {{ assert_gold_contract(sql, columns) }}
        {%- set changes = new_changes(sql, read, last) -%}
        {%- set count, partial_count = run_query(count_of_changes(changes)).rows[0] -%}
        {%- set has_partial = partial_count > 0 or has_partial_rows(storage) -%}
        {%- set rows = latest_rows_by_column(changes, columns, key) if partial_count > 0 else latest_rows(changes, columns, key) -%}
        {% do adapter.set_watermark(storage, 'silver.events', last, rebuild=rebuild) %}
        {% call statement('main') -%}
            {%- if rebuild -%} {{ replace_delta_table(storage, stored_columns, rows) }}
            {%- elif read is none -%} {{ insert_by_name(storage, stored_columns, rows) }}
            {%- elif count == 0 -%} {{ commit_watermark_only(storage) }}
            {%- else -%} {{ merge_rows(storage, rows, columns, key, has_partial) }}
            {%- endif -%}
        {%- endcall %}
    {%- endif -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [view]}) }}

{% endmaterialization %}
