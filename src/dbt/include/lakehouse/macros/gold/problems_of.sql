{#- The problems of gold tables, each as `view_of_problems` lists them. -#}
{% macro problems_of(models) -%}
    {%- for model in models -%}
    select * from {{ adapter.view_of_problems(model) }}
    {{ 'union all' if not loop.last }}
    {% else -%}
    select cast(null as string) as table_name, cast(null as string) as column_name, '' as code, '' as text, current_timestamp() as committed_at
    where false
    {%- endfor -%}
{%- endmacro %}
