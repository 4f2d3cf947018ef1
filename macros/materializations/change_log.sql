{#-
    An append-only log of what became of each message of bronze.messages: every run reads the commits of bronze
    that came since, settles each identity once, and appends in one commit that carries its own watermark.
-#}
{% materialization change_log, adapter='lakehouse' %}

    {%- set target = this.incorporate(type='table') -%}
    {%- set columns = model.columns.values() | list -%}
    {%- set properties = {} -%}
    {%- set window = adapter.take_note(model.unique_id) or window_to_settle() -%}
    {%- set read, last = window.read, window.last -%}

    {{ run_hooks(pre_hooks) }}

    {%- if read is not none and read > last -%}
        {{ exceptions.raise_compiler_error(
            this ~ ' has read up to version ' ~ read ~ ' of bronze.messages, which is now at ' ~ last
            ~ ': bronze was restored or made anew. Run `dbt run --full-refresh` to build from what it holds now.'
        ) }}
    {%- endif -%}
    {%- if window.rebuild -%}
        {% do properties.update({'cdc_lakehouse.resettled': tojson(resettled_tables(target))}) %}
    {%- elif not window.exists -%}
        {% do run_query(create_delta_table(target, columns, properties)) %}
    {%- elif window.added -%}
        {% do log(
            target ~ ' gets the columns ' ~ window.added | join(', ') ~ '. Bronze no longer holds all of its messages, so it is not rebuilt:'
            ~ ' these columns are null in the rows that it has.', info=true
        ) %}
        {% do run_query(add_columns(target, columns, window.added)) %}
    {%- endif -%}
    {%- set resettles = prepare_new_messages(window, target) if window.profile or read is none else false -%}
    {%- if window.profile or read is none -%}
        {% do adapter.find_latest_changes(target, read, 'resettled_rows' if resettles else none) %}
    {%- endif -%}

    {%- if not window.profile and read is not none -%}
        {{ nothing_new() }}
    {%- elif adapter.reads_a_part_only(sql) -%}
        {{ name_query('outcomes', sql) }}
        {{ get_assert_columns_equivalent('select * from outcomes') }}
        {{ nothing_written() }}
    {%- else -%}
        {{ name_query('outcomes', sql) }}
        {{ get_assert_columns_equivalent('select * from outcomes') }}
        {%- if resettles -%}
            {{ note_resettled_tables(target, window) }}
            {{ enable_deletion_vectors(target) }}
        {%- endif -%}
        {%- set write_outcomes -%}
            {%- if window.rebuild -%} {{ replace_delta_table(target, columns, 'select * from outcomes', properties) }}
            {%- elif resettles -%} {{ resettle_messages(target, 'select * from outcomes') }}
            {%- else -%} {{ insert_by_name(target, columns, 'select * from outcomes') }}
            {%- endif -%}
        {%- endset -%}
        {{ write_and_commit(write_outcomes, target, 'bronze.messages', last, rebuild=window.rebuild, row_by_row=true) }}
        {% do adapter.keep_latest_changes(target, read, last) %}
    {%- endif -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target]}) }}

{% endmaterialization %}
