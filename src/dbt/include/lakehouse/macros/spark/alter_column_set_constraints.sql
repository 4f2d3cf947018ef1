{#- Hold a plain table to the not_null and check constraints of its columns. -#}
{% macro lakehouse__alter_column_set_constraints(relation, column_dict) %}
    {% for statement in adapter.tables.statements_of_constraints(relation, column_dict) if not is_incremental() %}
        {% do run_query(statement) %}
    {% endfor %}
{% endmacro %}
