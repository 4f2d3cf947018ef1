{#- The new deliveries, each identity once; one that has been processed only if it comes a second time on purpose (reroute, replay). -#}
{% macro new_messages(target, found) -%}
    select * except (is_update) from new_deliveries
    {{ where_not_processed(target, found) if found.are_known }}
    {{ first_of_copies() if found.has_copies }}
{%- endmacro %}

{% macro where_not_processed(target, found) -%}
    where
        is_update
        or not exists (
            select 1 from {{ target }} as processed
            where
                ({{ found.ranges }})
                and {{ is_of_message('processed', 'new_deliveries') }}
        )
{%- endmacro %}

{% macro first_of_copies() -%}
    qualify row_number() over (
        partition by topic, partition, offset
        order by is_update desc, if(is_update, -bronze_version, bronze_version), ingested_at, md5(value)
    ) = 1
{%- endmacro %}

{#- The rows of new messages that were processed before. -#}
{% macro rows_processed_before(target, found) -%}
    select
        topic, partition, offset, row_number, format, kind, operation, database_name, schema_name, table_name, sequence, is_late, dropped_tables
    from {{ target }} as processed
    where
        ({{ found.ranges }})
        and exists (select 1 from new_messages where {{ is_of_message('processed', 'new_messages') }})
{%- endmacro %}

{#-
    The messages of earlier runs that OceanBase split off a record, with their results; they carry its sequence though they
    are no changes. One that is reprocessed is left out, or it would be a copy of itself. The version is named because Delta
    takes a table, beside its change feed in one query, for that feed.
-#}
{% macro shards_processed_before(target, window, found) -%}
    select processed.topic, processed.partition, processed.offset, processed.bronze_version, processed.sequence, processed.kind, messages.value
    from {{ target }} as processed
    inner join {{ window.messages }} version as of {{ window.last }} as messages
        on {{ is_of_message('processed', 'messages') }}
    where
        processed.format = 'oceanbase_avro'
        and messages.format = 'oceanbase_avro'
        and processed.sequence is not null
        and {{ window.read is not none }}
        {%- if found.reprocesses %}
        and not exists (select 1 from reprocessed_rows where {{ is_of_message('processed', 'reprocessed_rows') }})
        {%- endif %}
{%- endmacro %}

{#- Whether rows of two relations are of one message. -#}
{% macro is_of_message(one, other) -%}
    {{ one }}.topic = {{ other }}.topic and {{ one }}.partition = {{ other }}.partition and {{ one }}.offset = {{ other }}.offset
{%- endmacro %}
