{#- Whether a table no longer has the columns of its definition; says which, since the answer is to build it anew. -#}
{% macro has_changed_columns(relation, columns) -%}
    {%- set changed = adapter.changed_columns(relation, columns) -%}
    {%- if changed -%}
        {% do log(relation ~ ' is built anew, its definition has changed: ' ~ changed | join(', '), info=true) %}
    {%- endif -%}
    {{ return(changed | length > 0) }}
{%- endmacro %}
