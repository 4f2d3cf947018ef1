{#-
    What Maxwell's messages say: their kind, their tables and their time, which is in seconds or in milliseconds. `operation` is an
    expression over `type` and `ts`. Needs the columns value, json, stated and route_database.
-#}
{% macro maxwell_read(messages, operation) -%}
select
    *,
    json.*,
    json.sql as statement,
    {{ operation }} as operation,
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
