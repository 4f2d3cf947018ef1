{#-
    An append-only log of what became of each message of bronze.messages: every run reads the commits of bronze
    that came since, processes each identity once, and appends in one commit that carries its own high-water mark.
    `cdc_lakehouse.engine` decides what a run reads and what becomes of the table.
-#}
{% materialization change_log, adapter='lakehouse' %}

    {{ run_hooks(pre_hooks) }}
    {{ adapter.silver.run(this.incorporate(type='table'), plan_of_change_log(), sql, context) or '' }}
    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [this.incorporate(type='table')]}) }}

{% endmaterialization %}

{#- What this run of a change log reads: the compilation of the model asks first, its materialization works on the same. -#}
{% macro plan_of_change_log() -%}
    {{ return(adapter.silver.plan(this.incorporate(type='table'), model.columns.values() | list, should_full_refresh())) }}
{%- endmacro %}
