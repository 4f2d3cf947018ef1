{#-
    The tables that a TRUNCATE names, as array<struct<database_name, schema_name, table_name>>: where the message names none,
    or only one of several (PostgreSQL). Null otherwise. `kind` and `stated`, what `read_ddl` says of the statement, are
    columns of the step. What stands before a table's name is its schema where the database `has_schemas`.
-#}
{% macro truncated_tables(table, has_schemas='false') -%}
    case
        when
            kind = 'truncate' and stated.action = 'truncate_table'
            and (nullif({{ table }}, '') is null or size(stated.tables) > 1)
            then transform(
                stated.tables,
                named -> struct(
                    if({{ has_schemas }}, null, named.qualifier) as database_name,
                    if({{ has_schemas }}, named.qualifier, null) as schema_name,
                    named.table_name
                )
            )
    end
{%- endmacro %}

{#- How many rows the outcome of a message has that is no row change: one, but one for each table of a TRUNCATE. -#}
{% macro rows_of_truncate() -%}
    if(problem is null and kind = 'truncate', coalesce(size(truncated), 1), 1)
{%- endmacro %}

{#- Whether a kind of database, as a message words it, has schemas between databases and tables. -#}
{% macro is_database_with_schemas(source_type) -%}
    coalesce(lower({{ source_type }}) in ('oracle', 'postgresql', 'ppas', 'sqlserver', 'db2'), false)
{%- endmacro %}
