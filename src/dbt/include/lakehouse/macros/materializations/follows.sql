{#-
    A mart of gold tables that keep a change feed. A run computes again the rows whose keys changes of these tables touch, so that the
    mart equals its query. `follows` names, for each table, columns of the mart by which its rows depend on rows of the table:
    `follows={'orders': 'order_id', 'customers': 'customer_id'}`. docs/marts.md has an example and the condition.
-#}
{% materialization follows, adapter='lakehouse' %}

    {%- set existing = load_cached_relation(this) -%}
    {%- set target = this.incorporate(type='table') -%}
    {{ run_hooks(pre_hooks) }}
    {% do adapter.drop_relation(existing) if existing and existing.is_view and not adapter.tables.reads_a_part_only(sql) %}
    {%- set is_built = adapter.follows.run(model, target, sql, graph.nodes, should_full_refresh(), context) -%}
    {% do apply_grants(target, config.get('grants'), should_revoke=true) if is_built %}
    {% do persist_docs(target, model) if is_built %}
    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target]}) }}

{% endmaterialization %}
