{#-
    Make the temporary view new_messages: the new deliveries of a window, each identity once. Returns whether some come a
    second time on purpose (reroute, replay); then the view resettled_rows holds what they have been settled as so far.
-#}
{% macro prepare_new_messages(window, target) -%}
    {%- set ranges, flags, partitions = [], {'copies': false, 'resettles': false}, [] -%}
    {%- for topic, partition, _, first_offset, last_offset, has_copies, has_updates in window.profile -%}
        {% do ranges.append(
            '(topic = ' ~ text_literal(topic) ~ ' and partition = ' ~ partition
            ~ ' and offset between ' ~ first_offset ~ ' and ' ~ last_offset ~ ')'
        ) %}
        {#- Deliveries in two formats may be of one message. -#}
        {%- set copies = has_copies or [topic, partition] in partitions -%}
        {% do flags.update(copies=flags.copies or copies, resettles=flags.resettles or has_updates) %}
        {% do partitions.append([topic, partition]) %}
    {%- endfor -%}
    {%- set known = window.read is not none and run_query(
        'select 1 from ' ~ target ~ ' where ' ~ ranges | join(' or ') ~ ' limit 1'
    ).rows | length > 0 -%}
    {%- set new_messages -%}
        select * except (is_update) from new_deliveries
        {%- if known %}
        where
            is_update
            or not exists (
                select 1 from {{ target }} as settled
                where
                    ({{ ranges | join(' or ') }})
                    and settled.topic = new_deliveries.topic
                    and settled.partition = new_deliveries.partition
                    and settled.offset = new_deliveries.offset
            )
        {%- endif %}
        {%- if flags.copies %}
        qualify row_number() over (
            partition by topic, partition, offset
            order by is_update desc, if(is_update, -bronze_version, bronze_version), ingested_at, md5(value)
        ) = 1
        {%- endif %}
    {%- endset -%}
    {{ name_query('new_messages', new_messages) }}
    {%- set resettles = flags.resettles and known -%}
    {%- if resettles -%}
        {{ stage_rows('resettled_rows', rows_settled_before(target, ranges)) }}
    {%- endif -%}
    {{ name_query('settled_shards', shards_settled_before(window, target, resettles)) }}
    {{ return(resettles) }}
{%- endmacro %}

{#- The rows of new messages that were settled before. -#}
{% macro rows_settled_before(target, ranges) -%}
    select topic, partition, offset, row_number, kind, database_name, schema_name, table_name, sequence, is_late, dropped_tables
    from {{ target }} as settled
    where
        ({{ ranges | join(' or ') }})
        and exists (
            select 1 from new_messages
            where
                settled.topic = new_messages.topic
                and settled.partition = new_messages.partition
                and settled.offset = new_messages.offset
        )
{%- endmacro %}

{#-
    The messages of earlier runs that OceanBase split off a record, with their outcomes; they carry its sequence though they
    are no changes. One that is settled anew is left out, or it would be a copy of itself. The version is named because Delta
    takes a table, beside its change feed in one query, for that feed.
-#}
{% macro shards_settled_before(window, target, resettles) -%}
    select settled.topic, settled.partition, settled.offset, settled.bronze_version, settled.sequence, settled.kind, messages.value
    from {{ target }} as settled
    inner join {{ window.messages }} version as of {{ window.last }} as messages
        on
            settled.topic = messages.topic
            and settled.partition = messages.partition
            and settled.offset = messages.offset
    where
        settled.format = 'oceanbase_avro'
        and messages.format = 'oceanbase_avro'
        and settled.sequence is not null
        and {{ window.read is not none }}
        {%- if resettles %}
        and not exists (
            select 1 from resettled_rows
            where
                settled.topic = resettled_rows.topic
                and settled.partition = resettled_rows.partition
                and settled.offset = resettled_rows.offset
        )
        {%- endif %}
{%- endmacro %}

{#-
    What came with the commits after `read`; everything, where nothing has been read yet. Where the log no longer reaches
    back to `read`, the rows themselves tell their commit, but not whether it brought or changed them.
-#}
{% macro new_deliveries(messages, read, last) -%}
    {%- if read is none -%}
        select *, _metadata.row_commit_version as bronze_version, false as is_update
        from {{ messages }} version as of {{ last }}
    {%- elif adapter.earliest_version(messages) > read + 1 -%}
        select *, _metadata.row_commit_version as bronze_version, true as is_update
        from {{ messages }} version as of {{ last }}
        where _metadata.row_commit_version > {{ read }}
    {%- else -%}
        select * except (_change_type, _commit_version, _commit_timestamp),
            _commit_version as bronze_version, _change_type = 'update_postimage' as is_update
        from table_changes('{{ messages }}', {{ read + 1 }}, {{ last }})
        where _change_type in ('insert', 'update_postimage')
    {%- endif -%}
{%- endmacro %}

{#- Per topic, partition and format: the range of offsets, whether an identity comes twice, whether on purpose. -#}
{% macro profile_of_new_deliveries() -%}
    select
        topic,
        partition,
        format,
        min(offset) as first_offset,
        max(offset) as last_offset,
        count(*) > count(distinct offset) as has_copies,
        bool_or(is_update) as has_updates
    from new_deliveries
    group by topic, partition, format
{%- endmacro %}

{#-
    Give messages that were settled before their new outcome, and the others their first, in one commit. What a message was
    before, and is no longer, comes without a kind. A change that keeps its place stays as late as it was.
-#}
{% macro resettle_messages(target, sql) -%}
    merge into {{ target }} as settled
    using (
        select
            * except (is_late, sequence_before, was_late),
            if(sequence = sequence_before, was_late, is_late) as is_late
        from (
            {{ sql }}
        ) as outcome
        full outer join (
            select topic, partition, offset, row_number, sequence as sequence_before, is_late as was_late from resettled_rows
        ) as before
            using (topic, partition, offset, row_number)
    ) as outcome
    on
        settled.topic = outcome.topic
        and settled.partition = outcome.partition
        and settled.offset = outcome.offset
        and settled.row_number = outcome.row_number
    when matched and outcome.kind is null then delete
    when matched then update set *
    when not matched then insert *
{%- endmacro %}

{#-
    Note which source tables lose changes, or get them otherwise, as messages are settled anew: gold cannot take back what it
    has merged, so its tables of these are built anew. It is noted before, for one commit cannot do both; gold heeds it once
    silver has come so far.
-#}
{% macro note_resettled_tables(target, window) -%}
    {%- set tables = run_query(
        'select distinct ' ~ names_of_dropped_table() ~ ' from (select *, explode_outer(dropped_tables) as dropped from resettled_rows)'
        ~ " where kind in ('row_change', 'truncate') or dropped is not null"
    ).rows -%}
    {%- if tables -%}
        {%- set versions = resettled_tables(target) -%}
        {%- for row in tables -%}
            {% do versions.update({tojson([row['database_name'], row['schema_name'], row['table_name']]): window.last}) %}
        {%- endfor -%}
        {% do run_query(
            'alter table ' ~ target ~ ' set ' ~ table_settings({'cdc_lakehouse.resettled': tojson(versions)})
        ) %}
    {%- endif -%}
{%- endmacro %}

{#-
    Let rows be deleted by marks beside their files, once some are settled anew. Not before: to see whether a file has such marks,
    every query lists all files of the table.
-#}
{% macro enable_deletion_vectors(target) -%}
    {%- if adapter.table_property(target, 'delta.enableDeletionVectors') != 'true' -%}
        {% do run_query('alter table ' ~ target ~ ' set ' ~ table_settings({'delta.enableDeletionVectors': 'true'})) %}
    {%- endif -%}
{%- endmacro %}

{#- The source tables of which changes were settled anew: their names, as JSON, and up to which version of bronze. -#}
{% macro resettled_tables(events) -%}
    {{ return(fromjson(adapter.table_property(events, 'cdc_lakehouse.resettled') or '{}')) }}
{%- endmacro %}
