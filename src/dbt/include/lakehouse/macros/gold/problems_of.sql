{#- The problems of gold tables, each as `create_view_of_problems` lists them. -#}
{% macro problems_of(models) -%}
    {%- for model in models -%}
    {%- set storage = model.incorporate(path={'schema': model.schema ~ '_storage', 'identifier': model.identifier ~ '_problems'}) -%}
    select * from {{ storage }}
    {%- if not loop.last %}
    union all
    {% endif -%}
    {%- endfor -%}
{%- endmacro %}
