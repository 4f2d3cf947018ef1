{#- The part of a source that this run has to read: a temporary view that the materialization makes. Outside a run, all of it. -#}
{% macro new_rows_of(source) -%}
    {%- if is_only_looked_at() -%}
    (select *, _metadata.row_commit_version as bronze_version from {{ source }})
    {%- else -%}
    new_{{ source.identifier }}
    {%- endif -%}
{%- endmacro %}

{#-
    The messages of earlier runs that are shards of a record, with their outcomes: a temporary view that the materialization makes.
    Who reads all of bronze has no earlier run.
-#}
{% macro settled_shards() -%}
    {%- if is_only_looked_at() -%}
    (
        select
            '' as topic,
            0 as partition,
            0L as offset,
            0L as bronze_version,
            '' as sequence,
            '' as kind,
            X'' as value
        where false
    )
    {%- else -%}
    settled_shards
    {%- endif -%}
{%- endmacro %}

{#- How far earlier runs came in the order of each source table: a temporary view that the materialization makes. -#}
{% macro latest_changes() -%}
    {%- if is_only_looked_at() -%}
    (
        select
            '' as format,
            '' as database_name,
            '' as schema_name,
            '' as table_name,
            '' as sequence
        where false
    )
    {%- else -%}
    latest_changes
    {%- endif -%}
{%- endmacro %}

{#- Whether no model is built: `dbt show`, `compile` or `docs generate`. -#}
{% macro is_only_looked_at() -%}
    {{ return(flags.WHICH in ('show', 'compile', 'generate')) }}
{%- endmacro %}
