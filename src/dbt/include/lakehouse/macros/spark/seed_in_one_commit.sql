{#-
    A seed is replaced in one commit. dbt-spark drops the table, makes an empty one and fills it: after a kill between these
    steps the next `dbt run` would read topics without time zones, and say nothing.
-#}
{% macro lakehouse__load_csv_rows(model, agate_table) -%}
    {%- set bindings = [] -%}
    {%- set sql -%}
        create or replace table {{ this }} {{ file_format_clause() }} as
        select * from values
        {%- for row in agate_table.rows %}
            {%- do bindings.extend(row) %}
            ({% for column in seed_columns(model, agate_table) %}cast(%s as {{ column.type }}){{ ', ' if not loop.last }}{% endfor %}){{ ',' if not loop.last }}
        {%- endfor %}
        as seed ({{ seed_columns(model, agate_table) | map(attribute='name') | join(', ') }})
    {%- endset -%}
    {% do adapter.add_query(sql, bindings=bindings, abridge_sql_log=true) %}
    {{ return(sql) }}
{%- endmacro %}

{#- Only a seed without rows is made here: the rows bring their table. -#}
{% macro lakehouse__create_csv_table(model, agate_table) -%}
    {% do adapter.adopt(this, load_relation(this) is not none) %}
    {%- if agate_table.rows | length > 0 -%}
        {{ return('') }}
    {%- endif -%}
    {%- set sql -%}
        create or replace table {{ this }} (
            {%- for column in seed_columns(model, agate_table) %}{{ column.name }} {{ column.type }}{{ ', ' if not loop.last }}{% endfor -%}
        ) {{ file_format_clause() }}
    {%- endset -%}
    {% do run_query(sql) %}
    {{ return(sql) }}
{%- endmacro %}

{% macro lakehouse__reset_csv_table(model, full_refresh, old_relation, agate_table) -%}
    {{ return(create_csv_table(model, agate_table)) }}
{%- endmacro %}

{#- The columns of a seed, names quoted, with their types. -#}
{% macro seed_columns(model, agate_table) -%}
    {%- set columns, types = [], model.config.get('column_types', {}) -%}
    {%- for name in agate_table.column_names -%}
        {% do columns.append({'name': adapter.quote(name), 'type': types.get(name, adapter.convert_type(agate_table, loop.index0))}) %}
    {%- endfor -%}
    {{ return(columns) }}
{%- endmacro %}
