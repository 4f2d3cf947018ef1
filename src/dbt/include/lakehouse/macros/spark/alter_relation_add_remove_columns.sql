{#- Give a plain table the columns that `on_schema_change` asks for; dbt-spark drops none. -#}
{% macro lakehouse__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
    {% for statement in adapter.tables.statements_of_dropping(relation, remove_columns or []) %}
        {% do run_query(statement) %}
    {% endfor %}
    {% if add_columns %}
        {{ spark__alter_relation_add_remove_columns(relation, add_columns, none) }}
    {% endif %}
{% endmacro %}
