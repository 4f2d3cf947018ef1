{#- The whole table, also where `--empty` gives a model a part of it. -#}
{% macro lakehouse__alter_column_type(relation, column_name, new_column_type) -%}
    {% do run_query('alter table ' ~ relation.render() ~ ' alter column ' ~ adapter.quote(column_name) ~ ' type ' ~ new_column_type) %}
{%- endmacro %}
