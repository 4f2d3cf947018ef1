{%- set CHANGES = "('row_change', 'truncate', 'schema_change')" -%}
{%- set MARKS = "('heartbeat', 'transaction_begin', 'transaction_end')" -%}

{#-
    How far each partition has come; a row per topic and partition. The line files of a topic have one row together, without a number.
    Of a topic whose route has changed `format` lists several, whose places cannot be compared.
-#}
{% macro progress_of_partitions() -%}
    select
        counts.topic,
        if(files.partition is null, counts.partition, null) as partition,
        array_join(array_sort(collect_set(counts.format) filter (where counts.format <> 'unrouted')), ', ') as format,
        max(counts.last_sequence) filter (where counts.kind in {{ CHANGES }}) as place,
        unix_micros(max(counts.last_commit.committed_at) filter (where counts.kind in {{ CHANGES }})) as committed_at,
        unix_micros(max(counts.last_commit.committed_at) filter (where counts.kind in {{ MARKS }})) as heard_at,
        unix_micros(max(counts.last_ingested_at)) as ingested_at,
        bool_or(counts.kind in {{ CHANGES }} or counts.kind = 'rejected') as has_changes
    from silver.outcome_counts as counts
    left join (
        select distinct topic, partition from bronze.landed_files where partition is not null
    ) as files
        on counts.topic = files.topic and counts.partition = files.partition
    group by counts.topic, if(files.partition is null, counts.partition, null)
{%- endmacro %}

{#- The topics of full extracts, each with the topics that carry changes of its table. -#}
{% macro topics_of_extracts() -%}
    select extracts.topic as extract, min(changes.topic) as topic
    from silver.outcome_counts as extracts
    inner join silver.outcome_counts as changes
        on
            extracts.database_name <=> changes.database_name
            and extracts.schema_name <=> changes.schema_name
            and extracts.table_name = changes.table_name
    where extracts.format = 'full_extract' and changes.format <> 'full_extract'
    group by extracts.topic
{%- endmacro %}

{#- The partitions that lack an offset below their last one. -#}
{% macro partitions_with_gaps() -%}
    select topic, partition
    from silver.message_counts
    group by topic, partition
    having sum(bitmap_count(offsets)) <= max(last_offset)
{%- endmacro %}

{#-
    How far partitions have come without a gap. Removed messages have come; a gap is let go once what is behind it came before a
    moment. `missing` is the first offset that has not come.
-#}
{% macro progress_without_gaps(partitions) -%}
    with asked as (
        select topic, partition, timestamp_micros(let_go_before) as let_go_before
        from values {{ partitions }} as asked (topic, partition, let_go_before)
    ),
    offsets as (
        select events.topic, events.partition, offset, kind, sequence, committed_at, ingested_at <= let_go_before as is_let_go
        from silver.events as events
        inner join asked
            on events.topic = asked.topic and events.partition = asked.partition
        union all
        select
            removed.topic, removed.partition, explode(sequence(first_offset, last_offset)), 'removed', null, null,
            removed_at <= let_go_before
        from bronze.removed_messages as removed
        inner join asked
            on removed.topic = asked.topic and removed.partition = asked.partition
    ),
    begun as (
        select
            *,
            coalesce(max(if(is_let_go, offset, null)) over (partition by topic, partition), -1) + 1 as begin
        from offsets
    ),
    numbered as (
        select
            *,
            offset < begin
            or offset - begin = dense_rank() over (partition by topic, partition, offset >= begin order by offset) - 1 as is_whole
        from begun
    )
    select
        topic,
        partition,
        coalesce(max(offset) filter (where is_whole), -1) + 1 as missing,
        max(sequence) filter (where is_whole and kind in {{ CHANGES }} and committed_at is not null) as place,
        unix_micros(max(committed_at) filter (where is_whole and kind in {{ CHANGES }})) as committed_at
    from numbered
    group by topic, partition
{%- endmacro %}

{#-
    Where the transactions of each source are complete, by its changes from a floor on: those are that have no change at the bound
    or behind it, as none has that was committed when a mark was written that is waited for. What shares its commit time or its
    transaction with a change behind the bound is not complete.
-#}
{% macro complete_places(limits, is_new) -%}
    with limits as (
        select * from values {{ limits }} as limits (topic, source, is_by_time, floor, bound, heard)
    ),
    placed as (
        select
            limits.*,
            {{ place_of_change('limits.is_by_time', 'events.sequence', 'events.committed_at') }} as place,
            events.committed_at,
            events.transaction_id
        from silver.events as events
        inner join limits
            on events.topic = limits.topic
        where events.kind in {{ CHANGES }} and ({{ is_new }})
    ),
    changes as (
        select * from placed
        where place >= floor
    ),
    bounds as (
        select
            source,
            min(place) filter (where unix_micros(committed_at) >= heard) as heard_place,
            least(any_value(bound), min(place) filter (where unix_micros(committed_at) >= heard)) as bound
        from changes
        group by source
    ),
    without_open_times as (
        {{ bounds_before_what_is_open('bounds', 'committed_at') }}
    ),
    cuts as (
        select source, heard_place, bound as cut
        from (
            {{ bounds_before_what_is_open('without_open_times', 'transaction_id') }}
        )
    )
    select
        changes.source,
        any_value(heard_place) as heard_place,
        any_value(cut) as cut,
        unix_micros(min(committed_at) filter (where place >= cut)) as open_since,
        unix_micros(max(committed_at) filter (where cut is null or place < cut)) as last_commit,
        max(place) as last_place
    from changes
    inner join cuts
        on changes.source = cuts.source
    group by changes.source
{%- endmacro %}

{#- Bounds taken back to the first of the `changes` that share a column with one at the bound or behind it. -#}
{% macro bounds_before_what_is_open(bounds, column) -%}
    select bounds.source, any_value(heard_place) as heard_place, least(any_value(bound), min(first_place)) as bound
    from {{ bounds }} as bounds
    left join (
        select source, min(place) as first_place, max(place) as last_place
        from changes
        where {{ column }} is not null
        group by source, {{ column }}
    ) as alike
        on bounds.source = alike.source and last_place >= bound
    group by bounds.source
{%- endmacro %}

{#- The place of a change in its source: that in the log, else its commit time. A change without a time is before all others. -#}
{% macro place_of_change(is_by_time, sequence, committed_at) -%}
    if({{ is_by_time }}, lpad(greatest(coalesce(unix_micros({{ committed_at }}), 0), 0), 20, '0'), {{ sequence }})
{%- endmacro %}

{#-
    The rows of a history at the moment at which gold is complete: of each key the last change before it. The moment stands first, so
    that whoever reads several tables in one query reads it before each of them, and never a later moment than their rows.
-#}
{% macro view_of_complete_rows(table) -%}
    create or replace view {{ table.complete }}
    comment {{ ('The rows of ' ~ table.view ~ ' at the moment at which all tables of their source are complete.') | quoted }} as
    {{ shown_rows_at(moment_of_gold(), table) }}
{%- endmacro %}

{#- The moment that gold shows: for each topic the place before which changes count. -#}
{% macro moment_of_gold() -%}
    select explode(topics) as _topic_of_source, is_by_time as _is_by_time, gold_place as _gold_place, cast(null as bigint) as _gold_read
    from silver.complete_until
{%- endmacro %}

{% macro shown_rows_at(moment, table) -%}
    {{ shown_of(rows_at(moment, table), table) if table.model.row_rules else rows_at(moment, table) }}
{%- endmacro %}

{#- `_gold_read` leaves out what came later than a commit of bronze.messages; null leaves out nothing. -#}
{% macro rows_at(moment, table) -%}
    with moment as (
        {{ moment }}
    ),
    changes as (
        select stored.*
        from moment
        inner join {{ table.storage }} as stored
            on
                moment._topic_of_source = stored._topic
                and {{ place_of_change('moment._is_by_time', 'stored._sequence', 'stored._committed_at') }} < moment._gold_place
                and stored._bronze_version <= coalesce(moment._gold_read, stored._bronze_version)
    ),
    latest as (
        select _row.*
        from (
            select max_by(struct(changes.*), {{ table.model.parts.order }}) as _row
            from changes
            where _truncated_table is null
            group by {{ table.model.key.names() }}
        )
    ),
    markers as (
        select _truncated_table as _marked_table, max(_sequence) as _marker
        from changes
        where {{ table.model.is_removing }}
        group by _truncated_table
    )
    select {{ table.model.complete_names }}
    from latest
    left join markers
        on latest._source_table = markers._marked_table
    where _operation <> 'delete' and not {{ removed_by('_sequence', "coalesce(_marker, '')") }}
{%- endmacro %}

{#- What differs in a history between two moments: a row per key, as it is at the later one; of a row that has gone as it was. -#}
{% macro changes_between_moments(reading) -%}
    {%- set key = reading.model.key.names() -%}
    {{ differences(sides_of_moments(reading, key), reading.rows, key, (reading.until.text | quoted) ~ ' as _moment') }}
{%- endmacro %}

{% macro sides_of_moments(reading, key) -%}
    {%- set row = 'struct(' ~ reading.rows.all_names ~ ') as _row' -%}
    select {{ key }}, {{ row }}, false as _is_after
    from (
        {{ shown_rows_at(reading.since.rows, reading) }}
    )
    union all
    select {{ key }}, {{ row }}, true as _is_after
    from (
        {{ shown_rows_at(reading.until.rows, reading) }}
    )
{%- endmacro %}
