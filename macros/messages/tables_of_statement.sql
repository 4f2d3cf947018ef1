{#-
    The tables of a statement as an array of names; a name that the statement does not say is null. `stated` is what `read_ddl` says
    of the statement.
-#}
{% macro tables_of_statement(source_type, stated='stated') -%}
    {%- set has_schemas = has_schemas(source_type) -%}
    transform(
        {{ stated }}.tables,
        named -> struct(
            if({{ has_schemas }}, null, named.qualifier) as database_name,
            if({{ has_schemas }}, {{ name_in_source('named.qualifier', 'named.is_qualifier_quoted', source_type) }}, null) as schema_name,
            {{ name_in_source('named.table_name', 'named.is_quoted', source_type) }} as table_name
        )
    )
{%- endmacro %}

{#- Whether a database has schemas, so that the qualifier of a table is a schema; in MySQL it is the database. -#}
{% macro has_schemas(source_type) -%}
    coalesce(lower({{ source_type }}) in ('oracle', 'postgresql', 'ppas', 'sqlserver', 'db2'), false)
{%- endmacro %}

{#- A name of a statement as the database stores it: Oracle and PostgreSQL change the case of names without quotes. -#}
{% macro name_in_source(name, is_quoted, source_type) -%}
    case
        when {{ is_quoted }} then {{ name }}
        when lower({{ source_type }}) in ('oracle', 'db2') then upper({{ name }})
        when lower({{ source_type }}) in ('postgresql', 'ppas') then lower({{ name }})
        else {{ name }}
    end
{%- endmacro %}
