{#-
    An append-only log of what became of each message of bronze.messages: every run reads the commits of bronze
    that came since, settles each identity once, and appends in one commit that carries its own watermark.
-#}
{% materialization change_log, adapter='lakehouse' %}

    {%- set messages = api.Relation.create(schema='bronze', identifier='messages') -%}
    {%- set target = this.incorporate(type='table') -%}
    {%- set columns = model.columns.values() | list -%}
    {%- set exists = load_cached_relation(this) is not none -%}
    {%- set rebuild = exists and (should_full_refresh() or has_changed_columns(target, columns)) -%}
    {%- set last = adapter.delta_version(messages) -%}
    {%- set read = adapter.watermark(target, 'bronze.messages') if exists and not rebuild else none -%}

    {{ run_hooks(pre_hooks) }}

    {%- if read is not none and read > last -%}
        {{ exceptions.raise_compiler_error(
            this ~ ' has read up to version ' ~ read ~ ' of bronze.messages, which is now at ' ~ last
            ~ ': bronze was restored or made anew. Run `dbt run --full-refresh` to build from what it holds now.'
        ) }}
    {%- endif -%}
    {%- if not exists -%}
        {% do run_query(create_delta_table(target, columns, {'delta.enableDeletionVectors': 'true'})) %}
    {%- endif -%}
    {%- set window = {'is_empty': true} if read == last else prepare_new_messages(messages, read, last, target) -%}

    {%- if window.is_empty and read is not none -%}
        {{ nothing_new() }}
    {%- else -%}
        {{ get_assert_columns_equivalent(sql) }}
        {% do adapter.set_watermark(target, 'bronze.messages', last, rebuild=rebuild) %}
        {% call statement('main') -%}
            {%- if rebuild -%} {{ replace_delta_table(target, columns, sql) }}
            {%- elif window.resettles -%} {{ resettle_messages(target, sql, columns) }}
            {%- else -%} {{ insert_by_name(target, columns, sql) }}
            {%- endif -%}
        {%- endcall %}
    {%- endif -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target]}) }}

{% endmaterialization %}
