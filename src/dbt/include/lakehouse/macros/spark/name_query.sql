{#- Give a query a name that the following ones of this model can use; it is analysed once. -#}
{% macro name_query(name, sql) -%}
    {% do log(model.name ~ ' names ' ~ name ~ ':\n' ~ sql) %}
    {% do adapter.name_query(name, sql) %}
{%- endmacro %}

{#- Run a query once and keep its rows under a name, for this model. -#}
{% macro stage_rows(name, sql) -%}
    {% do log(model.name ~ ' stages as ' ~ name ~ ':\n' ~ sql) %}
    {% do adapter.stage(name, sql) %}
{%- endmacro %}
