{#- Name for each data test that warned or failed the view that shows more of it: `meta: {look_at: ...}` of the test. -#}
{% macro say_where_to_look(results) -%}
    {%- for result in results if execute and result.status in ('warn', 'fail') and result.node.config.meta.get('look_at') -%}
        {% do log(result.node.name ~ ': look at ' ~ result.node.config.meta.look_at ~ '.', info=true) %}
    {%- endfor -%}
{%- endmacro %}
