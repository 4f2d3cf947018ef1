{#-
    Rows that a DROP of their source table left in the model: it has the option `on_drop='keep'`, or the whole database was
    dropped. Rows that were written after the DROP are those of a table of the same name.
-#}
{% test dropped_tables_have_no_rows(model) %}
    {{ config(severity='warn', meta={'look_at': 'silver.dropped_tables'}) }}

    {%- set columns = adapter.get_columns_in_relation(model) | map(attribute='name') | list if execute else [] %}

    select
        dropped.source_table,
        dropped.ddl,
        dropped.committed_at,
        dropped.sequence,
        count(*) as kept_rows
    from {{ model }} as kept
    inner join {{ ref('dropped_tables') }} as dropped
        on kept._source_table = dropped.source_table and kept._sequence < dropped.sequence
    where
        true
        {%- if 'is_current' in columns %}
        and kept.is_current
        {%- elif '_is_deleted' in columns %}
        and not kept._is_deleted
        {%- endif %}
    group by all

{% endtest %}
