{#- Spark has no GRANT: say so, once a run, where a project that other databases build too asks for grants. -#}
{% macro lakehouse__apply_grants(relation, grant_config, should_revoke=true) -%}
    {%- if grant_config and adapter.tables.is_first_time('grants') -%}
        {% do exceptions.warn(relation ~ ': grants have no effect, for Spark has no GRANT. Who may read the files of LAKEHOUSE_DIR may read the tables.') %}
    {%- endif -%}
{%- endmacro %}
