{#-
    An append-only log of what became of each message of bronze.messages: every run reads the commits of bronze
    that came since, settles each identity once, and appends in one commit that carries its own watermark.
    `cdc_lakehouse.engine` decides what a run reads and what becomes of the table.
-#}
{% materialization change_log, adapter='lakehouse' %}

    {%- set target = this.incorporate(type='table') -%}
    {%- set columns = model.columns.values() | list -%}
    {%- set window = plan_of_change_log() -%}

    {{ run_hooks(pre_hooks) }}

    {{ prepare_change_log(target, columns, window.build) }}
    {%- set found = adapter.find_new_messages(window) -%}
    {%- if found is none -%}
        {{ nothing_new() }}
    {%- else -%}
        {{ name_new_messages(target, window, found) }}
        {%- set latest = adapter.find_latest_changes(window, found) -%}
        {{ name_query('outcomes', sql) }}
        {{ get_assert_columns_equivalent('select * from outcomes') }}
        {%- if adapter.reads_a_part_only(sql) -%}
            {{ nothing_written() }}
        {%- else -%}
            {{ write_outcomes(target, columns, window, found) }}
            {% do adapter.keep_latest_changes(window, latest) %}
        {%- endif -%}
    {%- endif -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target]}) }}

{% endmaterialization %}

{#- What this run of a change log reads: the compilation of the model asks first, its materialization works on the same. -#}
{% macro plan_of_change_log() -%}
    {{ return(adapter.plan_change_log(this.incorporate(type='table'), model.columns.values() | list, should_full_refresh())) }}
{%- endmacro %}

{#- Make the table, or give it the columns that it lacks; a table that is built anew gets them with its rows. -#}
{% macro prepare_change_log(target, columns, build) -%}
    {%- if build.said -%}
        {% do log(build.said, info=true) %}
    {%- endif -%}
    {%- if not build.exists -%}
        {% do run_query(create_delta_table(target, columns, {})) %}
    {%- elif build.added -%}
        {% do run_query(add_columns(target, columns, build.added)) %}
    {%- endif -%}
{%- endmacro %}

{#- Write what became of the new messages, and how far bronze has been read, in one commit. -#}
{% macro write_outcomes(target, columns, window, found) -%}
    {%- set rows = 'select * from outcomes' -%}
    {%- if window.build.rebuild -%}
        {%- set kept = {'cdc_lakehouse.resettled': adapter.table_property(target, 'cdc_lakehouse.resettled') or '{}'} -%}
        {%- set statement_text = replace_delta_table(target, columns, rows, kept) -%}
    {%- elif found.resettles -%}
        {{ prepare_resettling(target, window) }}
        {%- set statement_text = resettle_messages(target, rows) -%}
    {%- else -%}
        {%- set statement_text = insert_by_name(target, columns, rows) -%}
    {%- endif -%}
    {{ write_and_commit(statement_text, target, 'bronze.messages', window.last, rebuild=window.build.rebuild, row_by_row=true) }}
{%- endmacro %}
