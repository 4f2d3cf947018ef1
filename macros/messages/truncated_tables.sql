{#-
    The tables that a TRUNCATE names, as array<struct<database_name, schema_name, table_name>>: where the message names none,
    or only one of several (PostgreSQL). Null otherwise. `kind` and `stated`, what `read_ddl` says of the statement, are
    columns of the step; `source_type` is the kind of database, where the message tells it.
-#}
{% macro truncated_tables(table, source_type='null') -%}
    case
        when
            kind = 'truncate' and stated.action = 'truncate_table'
            and (nullif({{ table }}, '') is null or size(stated.tables) > 1)
            then {{ tables_of_statement(source_type) }}
    end
{%- endmacro %}

{#- The tables of a statement as an array of names; a name is null that the statement does not say. -#}
{% macro tables_of_statement(source_type) -%}
    {%- set has_schemas = has_schemas(source_type) -%}
    transform(
        stated.tables,
        named -> struct(
            if({{ has_schemas }}, null, named.qualifier) as database_name,
            if({{ has_schemas }}, {{ name_in_source('named.qualifier', 'named.is_qualifier_quoted', source_type) }}, null) as schema_name,
            {{ name_in_source('named.table_name', 'named.is_quoted', source_type) }} as table_name
        )
    )
{%- endmacro %}

{#- Whether a database has schemas, so that the name before a table's is one; in MySQL it is the database. -#}
{% macro has_schemas(source_type) -%}
    coalesce(lower({{ source_type }}) in ('oracle', 'postgresql', 'ppas', 'sqlserver', 'db2'), false)
{%- endmacro %}

{#- A name of a statement as the database keeps it: Oracle and PostgreSQL change the case of one without quotes. -#}
{% macro name_in_source(name, is_quoted, source_type) -%}
    case
        when {{ is_quoted }} then {{ name }}
        when lower({{ source_type }}) in ('oracle', 'db2') then upper({{ name }})
        when lower({{ source_type }}) in ('postgresql', 'ppas') then lower({{ name }})
        else {{ name }}
    end
{%- endmacro %}

{#- How many rows the outcome of a message has that is no row change: one, but one for each table of a TRUNCATE. -#}
{% macro rows_of_truncate() -%}
    if(problem is null and kind = 'truncate', coalesce(size(truncated), 1), 1)
{%- endmacro %}
