{#- The part of a source that this run has to read: a temporary view that the materialization makes. -#}
{% macro new_rows_of(source) -%}
    new_{{ source.identifier }}
{%- endmacro %}

{#- The messages of earlier runs that are shards of a record, with their outcomes: a temporary view that the materialization makes. -#}
{% macro settled_shards() -%}
    settled_shards
{%- endmacro %}

{#- How far earlier runs came in the order of each source table: a temporary view that the materialization makes. -#}
{% macro latest_changes() -%}
    latest_changes
{%- endmacro %}
