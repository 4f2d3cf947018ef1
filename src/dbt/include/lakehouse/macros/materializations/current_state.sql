{#-
    The current rows of a source table. The model is a projection of one row image; its YAML names the key. All rows,
    those of deleted keys as tombstones and one marker per truncated table, are kept in the schema gold_storage under the
    model's name, which one Delta commit a run brings up to date; the model itself is the view of the rows that live.
    A change that does not carry all columns changes those it carries; only then are columns looked at one by one.
-#}
{% materialization current_state, adapter='lakehouse' %}

    {%- set table = gold_table(sql, merge_columns()) -%}
    {%- set profile = {} -%}

    {{ run_hooks(pre_hooks) }}

    {% do prepare_gold_table(table, sql, view_of_living_rows(table)) %}
    {%- if table.read == table.last and table.read is not none -%}
        {{ nothing_new() }}
    {%- elif table.is_part -%}
        {{ assert_gold_contract(sql, table.columns) }}
        {{ nothing_written() }}
    {%- else -%}
        {%- set profile = profile_of_changes(table, sql) -%}
        {%- if table.read is none -%}
            {{ write_new_rows(table, without_expired_tombstones(latest_rows(table, profile), table)) }}
        {%- elif profile.count -%}
            {{ stage_rows('changed_rows', and_expired_tombstones(latest_rows(table, profile), table, profile)) }}
            {{ write_gold_table(table, merge_rows(table, profile), is_staged=true) }}
        {%- else -%}
            {{ write_gold_table(table, commit_watermark_only(table.storage)) }}
        {%- endif -%}
    {%- endif -%}

    {{ keep_plain_table(table, profile) }}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [table.view]}) }}

{% endmaterialization %}
