{#-
    What Avro messages say, from their decoded `record`: the kind, and the tables that they are about. `database` and `source_type`
    tell where a record comes from, `is_waiting` whether a part of it is still missing. Needs the columns value, record and
    route_database.
-#}
{% macro avro_read(records, database, source_type, is_waiting) -%}
select
    *,
    record.ddl as statement,
    record.stated,
    case
        when value is null or {{ is_waiting }} then 'control'
        when record.operation in ('INSERT', 'UPDATE', 'DELETE', 'INIT') then 'row_change'
        when record.operation in ('DDL', 'COMMAND') then {{ ddl_kind() }}
        when record.operation = 'HEARTBEAT' then 'heartbeat'
        when record.operation = 'BEGIN' then 'transaction_begin'
        when record.operation in ('COMMIT', 'ROLLBACK', 'ABORT') then 'transaction_end'
        when record.operation is not null then 'control'
    end as kind,
    {{ source_names(database, 'record.table_name', source_type) }}
from {{ records }}
{%- endmacro %}
