{#-
    A view, written only where it is missing, replaced by another program, or the project has changed since: a run that finds
    nothing new writes nothing, and takes no time for it. A view of a part of its sources must not take the place of one that is read.
-#}
{% materialization view, adapter='lakehouse' %}

    {{ keep_view(adapter.views.is_to_be_made(load_cached_relation(this), sql, should_full_refresh())) }}

    {{ return({'relations': [this.incorporate(type='view')]}) }}

{% endmaterialization %}

{#- Write the view of a model if it `is_to_be_made`; else run its hooks and write nothing. -#}
{% macro keep_view(is_to_be_made) -%}
    {%- if is_to_be_made -%}
        {% do create_or_replace_view() %}
        {% do adapter.views.note_text(this.incorporate(type='view')) %}
    {%- else -%}
        {{ run_hooks(pre_hooks) }}
        {{ nothing_written() if adapter.tables.reads_a_part_only(sql) else nothing_new() }}
        {{ run_hooks(post_hooks) }}
    {%- endif -%}
{%- endmacro %}
