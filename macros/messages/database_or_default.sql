{#-
    The database that a message names, else the one that its TRUNCATE names (a column of the step); for changes of a table,
    else the one that seeds/topics.csv gives its topic.
-#}
{% macro database_or_default(database, kind) -%}
    coalesce(
        nullif({{ database }}, ''),
        get(truncated, 0).database_name,
        if({{ kind }} in ('row_change', 'schema_change', 'truncate'), route_database, null)
    )
{%- endmacro %}
