{#-
    A view, written only where it is missing or the project has changed since: a run that finds nothing new writes nothing,
    and takes no time for it.
-#}
{% materialization view, adapter='lakehouse' %}

    {%- set definition = adapter.definition_of_view(sql) -%}
    {%- set existing = load_cached_relation(this) -%}

    {#- A view of nothing must not take the place of one that is read. -#}
    {%- if existing is not none and existing.is_view and adapter.reads_a_part_only(sql) -%}
        {{ nothing_written() }}
        {{ return({'relations': [existing]}) }}
    {%- endif -%}

    {%- if (
        existing is not none and existing.is_view and not should_full_refresh()
        and adapter.view_property(existing, 'cdc_lakehouse.definition') == definition
    ) -%}
        {{ run_hooks(pre_hooks) }}
        {{ nothing_new() }}
        {{ run_hooks(post_hooks) }}
        {{ return({'relations': [existing]}) }}
    {%- endif -%}

    {%- set built = create_or_replace_view() -%}
    {% do run_query("alter view " ~ this ~ " set tblproperties ('cdc_lakehouse.definition' = '" ~ definition ~ "')") %}
    {{ return(built) }}

{% endmaterialization %}
