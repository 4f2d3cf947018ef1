{#-
    What Canal messages say: the kind, which is null for a type that Canal does not document, the tables that they are about, and
    their images. The arguments are those of `canal_rows`. Needs the columns of `json_messages` with `canal_fields`, delete_image and
    route_database.
-#}
{% macro canal_read(messages, full_load, types, deleted_in, heartbeat) -%}
select
    *,
    json.*,
    -- A row change may repeat the statement that made it.
    if(json.type in ('INSERT', 'UPDATE', 'DELETE', 'INIT', 'ROW'), null, json.sql) as statement,
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
        when json.type = '{{ heartbeat }}' then 'heartbeat'
    end as kind,
    {{ source_names('json.database', 'json.table') }},
    {{ types }} as sent_types,
    case
        when json.type <> 'DELETE' then 'data'
        when delete_image is not null then delete_image
        when coalesce(size(json.old), 0) = 0 and size(json.data) > 0 then 'data'
        when coalesce(size(json.data), 0) = 0 and size(json.old) > 0 then 'old'
        else {{ deleted_in }}
    end as image_field,
    if(image_field = 'old', json.old, json.data) as row_images,
    if(json.type = 'UPDATE', json.old, cast(null as array<map<string, string>>)) as old_images
from {{ messages }}
{%- endmacro %}
