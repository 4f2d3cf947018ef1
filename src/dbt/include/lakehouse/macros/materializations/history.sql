{#-
    Every version of the rows of a source table, and when it was true: [valid_from, valid_to) by the source's commits. The model
    is the same projection as that of the current rows. All changes, deletes and truncates too, are kept in the schema
    gold_storage under the model's name, so that a late one finds its place; the model itself is the view of the versions.
-#}
{% materialization history, adapter='lakehouse' %}

    {%- set table = gold_table(sql, [
        {'name': 'valid_from', 'data_type': 'timestamp'},
        {'name': 'valid_to', 'data_type': 'timestamp'},
        {'name': 'is_current', 'data_type': 'boolean'},
        {'name': '_is_version', 'data_type': 'boolean'},
    ] + merge_columns()) -%}
    {%- set profile = {} -%}

    {{ run_hooks(pre_hooks) }}

    {% do prepare_gold_table(table, sql, view_of_versions(table)) %}
    {%- if table.read == table.last and table.read is not none -%}
        {{ nothing_new() }}
    {%- elif table.is_part -%}
        {{ assert_gold_contract(sql, table.columns) }}
        {{ nothing_written() }}
    {%- else -%}
        {%- set profile = profile_of_changes(table, sql) -%}
        {%- if table.read is none -%}
            {{ write_new_rows(table, versions_of_rows(table, profile)) }}
        {%- elif profile.count -%}
            {{ stage_rows('changed_rows', versions_of_rows(table, profile)) }}
            {{ write_gold_table(table, merge_versions(table, profile), is_staged=true) }}
        {%- else -%}
            {{ write_gold_table(table, commit_watermark_only(table.storage)) }}
        {%- endif -%}
    {%- endif -%}

    {{ keep_plain_table(table, profile) }}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [table.view]}) }}

{% endmaterialization %}
