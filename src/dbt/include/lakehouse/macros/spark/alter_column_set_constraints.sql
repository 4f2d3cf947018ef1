{#- Hold a plain table to the not_null and check constraints of its columns. Delta lets no column that may be null become one that may not; a check says the same. -#}
{% macro lakehouse__alter_column_set_constraints(relation, column_dict) %}
    {% for column in column_dict.values() if not is_incremental() %}
        {% set name = adapter.quote(column.name) if column.quote else column.name %}
        {% for constraint in column.constraints %}
            {% if constraint.type in ('not_null', 'check') %}
                {% set rule = name ~ ' is not null' if constraint.type == 'not_null' else constraint.expression %}
                {% do run_query('alter table ' ~ relation ~ ' add constraint ' ~ (constraint.name or column.name ~ '_' ~ constraint.type ~ '_' ~ loop.index) ~ ' check (' ~ rule ~ ')') %}
            {% else %}
                {% do exceptions.warn(relation ~ '.' ~ column.name ~ ': ' ~ constraint.type ~ ' has no effect in a plain table, only not_null and check have.') %}
            {% endif %}
        {% endfor %}
    {% endfor %}
{% endmacro %}
