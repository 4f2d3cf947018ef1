{#- The problems of gold tables, each as `view_of_problems` lists them. -#}
{% macro problems_of(models) -%}
    {%- for model in models -%}
    select * from {{ adapter.view_of_problems(model) }}
    {{ 'union all' if not loop.last }}
    {% endfor -%}
{%- endmacro %}
