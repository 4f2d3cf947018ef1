{#- Up to which commit of bronze.messages silver has committed to have read; -1 before its first run. -#}
{% macro version_read_by_silver() -%}
    {{ adapter.marks.version_read(api.Relation.create(schema='silver', identifier='events'), 'bronze.messages') }}
{%- endmacro %}
