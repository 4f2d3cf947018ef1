{#- The new deliveries, each identity once; one that has been settled only if it comes a second time on purpose (reroute, replay). -#}
{% macro new_messages(target, found) -%}
    select * except (is_update) from new_deliveries
    {{ where_not_settled(target, found) if found.are_known }}
    {{ first_of_copies() if found.has_copies }}
{%- endmacro %}

{% macro where_not_settled(target, found) -%}
    where
        is_update
        or not exists (
            select 1 from {{ target }} as settled
            where
                ({{ found.ranges }})
                and {{ is_of_message('settled', 'new_deliveries') }}
        )
{%- endmacro %}

{% macro first_of_copies() -%}
    qualify row_number() over (
        partition by topic, partition, offset
        order by is_update desc, if(is_update, -bronze_version, bronze_version), ingested_at, md5(value)
    ) = 1
{%- endmacro %}

{#- The rows of new messages that were settled before. -#}
{% macro rows_settled_before(target, found) -%}
    select
        topic, partition, offset, row_number, format, kind, operation, database_name, schema_name, table_name, sequence, is_late, dropped_tables
    from {{ target }} as settled
    where
        ({{ found.ranges }})
        and exists (select 1 from new_messages where {{ is_of_message('settled', 'new_messages') }})
{%- endmacro %}

{#-
    The messages of earlier runs that OceanBase split off a record, with their outcomes; they carry its sequence though they
    are no changes. One that is settled anew is left out, or it would be a copy of itself. The version is named because Delta
    takes a table, beside its change feed in one query, for that feed.
-#}
{% macro shards_settled_before(target, window, found) -%}
    select settled.topic, settled.partition, settled.offset, settled.bronze_version, settled.sequence, settled.kind, messages.value
    from {{ target }} as settled
    inner join {{ window.messages }} version as of {{ window.last }} as messages
        on {{ is_of_message('settled', 'messages') }}
    where
        settled.format = 'oceanbase_avro'
        and messages.format = 'oceanbase_avro'
        and settled.sequence is not null
        and {{ window.read is not none }}
        {%- if found.resettles %}
        and not exists (select 1 from resettled_rows where {{ is_of_message('settled', 'resettled_rows') }})
        {%- endif %}
{%- endmacro %}

{#- Whether rows of two relations are of one message. -#}
{% macro is_of_message(one, other) -%}
    {{ one }}.topic = {{ other }}.topic and {{ one }}.partition = {{ other }}.partition and {{ one }}.offset = {{ other }}.offset
{%- endmacro %}
