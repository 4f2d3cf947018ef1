{#-
    Adds the columns of silver.events that the envelope has to the rows of Canal messages. `full_load` is the dialect's word for the
    rows of a full load. Needs the columns of `canal_rows`.
-#}
{% macro canal_changes(rows, full_load=none) -%}
select
    *,
    {{ "if(type = '" ~ full_load ~ "', 'snapshot', lower(type))" if full_load else 'lower(type)' }} as operation,
    source_database as database_name,
    coalesce(get(truncated, row_number).table_name, source_table) as table_name,
    pknames as key_columns,
    types as column_types,
    sql as ddl,
    {{ epoch_to_timestamp('es', 'milliseconds') }} as committed_at,
    {{ epoch_to_timestamp('ts', 'milliseconds') }} as produced_at,
    gtid as transaction_id
from {{ rows }}
{%- endmacro %}
