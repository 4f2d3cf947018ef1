{#-
    A run of a gold model, of either materialization. `adapter.gold.plan` decides from Delta's log what the table is and
    what it has to read; `adapter.gold.run` takes the steps of `engine/gold_run.py`, with the statements of `engine/sql`.
-#}
{% macro run_gold_model(sql) -%}
    {%- set table = adapter.gold.plan(model, this, sql, should_full_refresh()) -%}

    {{ run_hooks(pre_hooks) }}
    {{ adapter.gold.run(table, context) or '' }}
    {{ apply_grants(table.view, config.get('grants')) if table.needs_views }}
    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [table.view]}) }}
{%- endmacro %}
