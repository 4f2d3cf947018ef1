{#- The part of a source that this run has to read: a temporary view that the materialization makes. Outside a run, all of it. -#}
{% macro new_rows_of(source) -%}
    {{ '(select *, _metadata.row_commit_version as bronze_version from ' ~ source ~ ')' if is_only_looked_at() else 'new_' ~ source.identifier }}
{%- endmacro %}

{#- The messages of earlier runs that are shards of a record, with their results. -#}
{% macro processed_shards() -%}
    {{ of_earlier_runs('processed_shards', 'topic: string, partition: int, offset: bigint, bronze_version: bigint, sequence: string, kind: string, value: binary') }}
{%- endmacro %}

{#- How far earlier runs came in the order of each source table. -#}
{% macro latest_changes() -%}
    {{ of_earlier_runs('latest_changes', 'format: string, database_name: string, schema_name: string, table_name: string, sequence: string') }}
{%- endmacro %}

{#- The places of the extracts that are new. -#}
{% macro extract_places() -%}
    {{ of_earlier_runs('extract_places', 'topic: string, partition: int, place: string') }}
{%- endmacro %}

{#- What earlier runs have left: a temporary view that the materialization makes. Who reads all of bronze has no earlier run. -#}
{% macro of_earlier_runs(name, columns) -%}
    {{ '(select inline(cast(array() as array<struct<' ~ columns ~ '>>)))' if is_only_looked_at() else name }}
{%- endmacro %}

{#- Whether no model is built: `dbt show`, `compile` or `docs generate`. -#}
{% macro is_only_looked_at() -%}
    {{ return(flags.WHICH in ('show', 'compile', 'generate')) }}
{%- endmacro %}
