{#-
    What Debezium's messages say: their kind, their tables and the image before. A table without a replica identity has deletes without
    a row: the key of the message is what is known of it. Vitess names a keyspace in place of a database; Flink writes no source, and the
    route names the table. Needs the columns value, stated, route_database, route_table, key_image, op, source, status, statement,
    statement_database, produced_ms and sent_before.
-#}
{% macro debezium_read(opened) -%}
select
    *,
    case op when 'c' then 'insert' when 'r' then 'snapshot' when 'u' then 'update' when 'd' then 'delete' end as operation,
    case
        when value is null or op = 'm' or (op is null and {{ is_wrapped_null('value') }}) then 'control'
        when op in ('c', 'r', 'u', 'd') then 'row_change'
        when op = 't' then 'truncate'
        when op is not null then null
        when status = 'BEGIN' then 'transaction_begin'
        when status = 'END' then 'transaction_end'
        when statement <> '' then {{ ddl_kind('stated') }}
        when statement_database is not null then 'control'
        when produced_ms is not null and source is null then 'heartbeat'
    end as kind,
    if(op = 'd', coalesce(sent_before, {{ debezium_row_key() }}), sent_before) as before_image,
    {{ source_names(
        "coalesce(nullif(source.db, ''), statement_database, nvl2(source.keyspace, coalesce(route_database, source.keyspace), null))",
        'coalesce(source.table, if(source is null and op is not null, route_table, null))', source_type='source.connector'
    ) }}
from {{ opened }}
{%- endmacro %}
