{#-
    A Delta table's columns as its definition words them: name, type, not null, comment. A view on the table takes its
    comments along, and the metastore refuses one of more than 256 characters.
-#}
{% macro column_definitions(columns) -%}
    {%- for column in columns %}
        {{ adapter.quote(column.name) }} {{ column.data_type }}
        {%- if column.constraints | selectattr('type', 'equalto', 'not_null') | list %} not null{% endif %}
        {%- if column.description %} comment {{ text_literal(column.description | trim | truncate(250, leeway=0)) }}{% endif %}
        {{- ',' if not loop.last }}
    {%- endfor %}
{%- endmacro %}

{#- The names of columns, quoted, in order. -#}
{% macro column_names(columns) -%}
    {%- for column in columns %}{{ adapter.quote(column.name) }}{{ ', ' if not loop.last }}{% endfor %}
{%- endmacro %}

{#- An empty Delta table, comments and constraints in the same single commit. -#}
{% macro create_delta_table(relation, columns, properties, cluster_by=[]) -%}
    create table {{ relation }} ({{ column_definitions(columns) }})
    using delta
    {{ table_settings(properties, cluster_by) }}
{%- endmacro %}

{#- Add those columns of its definition to a table that are among `names`, each in its place. -#}
{% macro add_columns(relation, columns, names) -%}
    alter table {{ relation }} add columns (
        {%- for column in columns %}
        {%- if column.name in names %}
        {{- ',' if column.name != names[0] }}
        {{- column_definitions([column]) }} {{ 'after ' ~ adapter.quote(loop.previtem.name) if loop.previtem is defined else 'first' }}
        {%- endif %}
        {%- endfor %}
    )
{%- endmacro %}

{% macro table_settings(properties, cluster_by=[]) -%}
    {%- if cluster_by -%}
    cluster by ({% for name in cluster_by %}{{ adapter.quote(name) }}{{ ', ' if not loop.last }}{% endfor %})
    {% endif -%}
    {% if properties -%}
    tblproperties ({% for name, value in properties.items() %}'{{ name }}' = {{ text_literal(value) }}{{ ', ' if not loop.last }}{% endfor %})
    {%- endif -%}
{%- endmacro %}

{#- Append rows by the names of their columns. -#}
{% macro insert_by_name(relation, columns, sql) -%}
    insert into {{ relation }} ({{ column_names(columns) }})
    select {{ column_names(columns) }} from (
        {{ sql }}
    )
{%- endmacro %}

{#- Give a table other rows, and its definition's columns, in one commit: readers see the old or the new. -#}
{% macro replace_delta_table(relation, columns, sql, properties, cluster_by=[]) -%}
    create or replace table {{ relation }}
    using delta
    {{ table_settings(properties, cluster_by) }}
    as select {{ column_names(columns) }} from (
        {{ sql }}
    )
{%- endmacro %}
