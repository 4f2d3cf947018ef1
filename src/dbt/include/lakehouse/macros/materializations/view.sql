{#-
    A view, written only where it is missing or the project has changed since: a run that finds nothing new writes nothing,
    and takes no time for it. A view of a part of its sources must not take the place of one that is read.
-#}
{% materialization view, adapter='lakehouse' %}

    {%- set existing = load_cached_relation(this) -%}
    {%- if adapter.is_to_be_made(existing, sql, should_full_refresh()) -%}
        {{ return(create_or_replace_view()) }}
    {%- endif -%}

    {{ run_hooks(pre_hooks) }}
    {{ nothing_written() if adapter.reads_a_part_only(sql) else nothing_new() }}
    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [existing]}) }}

{% endmaterialization %}
