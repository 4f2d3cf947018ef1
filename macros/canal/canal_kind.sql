{#- The kind of a Canal message, null for a type that Canal does not know; `full_load` is the dialect's word for rows of a full load. -#}
{% macro canal_kind(full_load=none) -%}
    case
        when value is null then 'control'
        when json.type in ('INSERT', 'UPDATE', 'DELETE'{{ ", '" ~ full_load ~ "'" if full_load }}) then 'row_change'
        when json.type = 'TRUNCATE' then 'truncate'
        when
            json.type in ('DDL', 'INIT_DDL', 'CREATE', 'ALTER', 'ERASE', 'RENAME', 'CINDEX', 'DINDEX')
            -- Canal does not know every statement by its beginning, and says of such a one that it is no DDL.
            or (json.type = 'QUERY' and (json.isddl = 'true' or stated.action <> 'other'))
            then {{ ddl_kind() }}
        when json.type in ('QUERY', 'GTID', 'XACOMMIT', 'XAROLLBACK') then 'control'
        when json.type = 'MHEARTBEAT' then 'heartbeat'
    end
{%- endmacro %}
