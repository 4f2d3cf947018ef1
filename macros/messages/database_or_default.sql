{#- The database that a message names; for changes of a table, else the one that seeds/topics.csv gives its topic. -#}
{% macro database_or_default(database, kind) -%}
    coalesce(
        nullif({{ database }}, ''),
        if({{ kind }} in ('row_change', 'schema_change', 'truncate'), route_database, null)
    )
{%- endmacro %}
