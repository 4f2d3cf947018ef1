{#-
    A run of a gold model, of either materialization. `adapter.plan_gold_table` decides from Delta's log what the table is and
    what it has to read; where silver has something for it, the adapter runs what the macros of this folder render.
-#}
{% macro run_gold_model(sql) -%}
    {%- set table = adapter.plan_gold_table(model, this, sql, should_full_refresh()) -%}

    {{ run_hooks(pre_hooks) }}
    {{ adapter.run_gold_table(table, context) or '' }}
    {{ apply_grants(table.view, config.get('grants')) if table.needs_views }}
    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [table.view]}) }}
{%- endmacro %}

{#- Stop with dbt's table of differences unless the projection has the columns and types of the YAML. -#}
{% macro assert_gold_contract(table) -%}
    {% do model.update(columns=table.model.contract) %}
    {{ get_assert_columns_equivalent(
        'select * except (' ~ table.model.unmerged_names ~ '), ' ~ table.model.no_problems ~ ' as _problems from (\n' ~ table.model.sql ~ '\n)'
    ) }}
{%- endmacro %}
