{#- Give a query a name that the following ones of this model can use; it is analysed once. -#}
{% macro name_query(name, sql) -%}
    {% do log(model.name ~ ' names ' ~ name ~ ':\n' ~ sql) %}
    {% do adapter.name_query(name, sql) %}
{%- endmacro %}

{#-
    Give the model's query a name, and before it each ephemeral model that it reads, under the name by which dbt makes it a CTE:
    Spark analyses a chain of named queries in a fraction of the time that it needs for CTEs within CTEs.
-#}
{% macro name_model(name, sql) -%}
    {%- set ephemeral_models = model.extra_ctes | map(attribute='sql') | list -%}
    {%- for cte in ephemeral_models -%}
        {{ name_query(cte.split(' as (')[0].strip(), cte[cte.index('(') + 1 : cte.rindex(')')]) }}
    {%- endfor -%}
    {%- set ctes = ephemeral_models | join(', ') -%}
    {{ name_query(name, sql.replace('with' ~ ctes ~ ', ', 'with ', 1).replace('with' ~ ctes ~ ' ', '', 1) if ctes else sql) }}
{%- endmacro %}

{#- Run a query once and keep its rows under a name, for this model. -#}
{% macro stage_rows(name, sql) -%}
    {% do log(model.name ~ ' stages as ' ~ name ~ ':\n' ~ sql) %}
    {% do adapter.stage(name, sql) %}
{%- endmacro %}
