{#-
    A view, written only where it is missing or the project has changed since: a run that finds nothing new writes nothing,
    and takes no time for it. A view of a part of its sources must not take the place of one that is read.
-#}
{% materialization view, adapter='lakehouse' %}

    {%- set existing, built = load_cached_relation(this), none -%}
    {%- set step = adapter.step_of_view(existing, sql, should_full_refresh()) -%}

    {%- if step == 'make' -%}
        {%- set built = create_or_replace_view() -%}
        {% do run_query("alter view " ~ this ~ " set tblproperties ('cdc_lakehouse.definition' = '" ~ adapter.definition_of_view(sql) ~ "')") %}
    {%- else -%}
        {{ run_hooks(pre_hooks) }}
        {{ nothing_written() if step == 'part' else nothing_new() }}
        {{ run_hooks(post_hooks) }}
    {%- endif -%}

    {{ return(built or {'relations': [existing]}) }}

{% endmaterialization %}
