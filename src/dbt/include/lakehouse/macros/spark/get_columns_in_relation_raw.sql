{#- The columns of the whole table, also where `--empty` gives a model a part of it. -#}
{% macro lakehouse__get_columns_in_relation_raw(relation) -%}
    {{ return(run_query('describe extended ' ~ relation.render())) }}
{%- endmacro %}
