{#- The problems of gold tables, each as `view_of_problems` lists them. -#}
{% macro problems_of(models) -%}
    {{ adapter.gold.query_of_problems(models) }}
{%- endmacro %}
