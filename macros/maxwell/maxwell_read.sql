{#-
    What Maxwell's messages say: their kind, their tables and their time, which is in seconds or in milliseconds. A row is also one of a
    full load where `of_full_load`, a condition on `type` and `ts`, holds. Needs the columns value, json, stated and route_database.
-#}
{% macro maxwell_read(messages, of_full_load='false') -%}
select
    *,
    json.*,
    json.sql as statement,
    if(type = 'bootstrap-insert' or ({{ of_full_load }}), 'snapshot', type) as operation,
    if(length(ts) > 11, ts, ts || '000') as ts_ms,
    case
        when value is null or type in ('bootstrap-start', 'bootstrap-complete') then 'control'
        when type in ('insert', 'bootstrap-insert', 'update', 'delete') then 'row_change'
        when type = 'heartbeat' then 'heartbeat'
        when
            type in ('table-create', 'table-alter', 'table-drop', 'database-create', 'database-alter', 'database-drop')
            then {{ ddl_kind('stated') }}
    end as kind,
    {{ source_names('json.database', 'json.table', source_type="'mysql'") }}
from {{ messages }}
{%- endmacro %}
