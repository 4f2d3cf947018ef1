{%- set CHANGES = "('row_change', 'truncate', 'schema_change')" -%}
{%- set MARKS = "('heartbeat', 'transaction_begin', 'transaction_end')" -%}

{#-
    How far each partition has come by results; a row per topic and partition. The line files of a topic have one row together,
    without a number. Of a topic whose route has changed `format` lists several, whose places cannot be compared.
-#}
{% macro progress_of_partitions(results) -%}
    select
        results.topic,
        if(files.partition is null, results.partition, null) as partition,
        array_join(array_sort(collect_set(format) filter (where format <> 'unrouted')), ', ') as format,
        max(sequence) filter (where kind in {{ CHANGES }} and committed_at is not null) as place,
        unix_micros(max(committed_at) filter (where kind in {{ CHANGES }})) as committed_at,
        unix_micros(max(committed_at) filter (where kind in {{ MARKS }})) as heard_at,
        unix_micros(max(ingested_at)) as ingested_at,
        bool_or(kind in {{ CHANGES }} or kind = 'rejected') as has_changes
    from {{ results }} as results
    left join (
        select distinct topic, partition from bronze.landed_files where partition is not null
    ) as files
        on results.topic = files.topic and results.partition = files.partition
    group by results.topic, if(files.partition is null, results.partition, null)
{%- endmacro %}

{#- All results, as silver has summed them up; their offsets are not told. -#}
{% macro all_results() -%}
    (
        select
            topic, partition, format, kind, last_sequence as sequence, last_commit.committed_at, last_ingested_at as ingested_at
        from silver.result_counts
    )
{%- endmacro %}

{#- The results of some messages. -#}
{% macro results_where(condition) -%}
    select
        topic, partition, offset, format, kind, sequence, committed_at, ingested_at, transaction_id, bronze_version
    from silver.events
    where {{ condition }}
{%- endmacro %}

{#- The results of partitions, and as one more kind the messages of them that were removed: they have come, too. -#}
{% macro results_and_removed_messages(partitions) -%}
    {{ results_where('(topic, partition) in (' ~ partitions ~ ')') }}
    union all
    select
        topic, partition, explode(sequence(first_offset, last_offset)), null, 'removed', null, null, removed_at, null, null
    from bronze.removed_messages
    where (topic, partition) in ({{ partitions }})
{%- endmacro %}

{#- The last offset of each partition that has all before it. -#}
{% macro partitions_without_gaps() -%}
    select topic, partition, max(last_offset) as last_offset
    from silver.message_counts
    group by topic, partition
    having sum(bitmap_count(offsets)) > max(last_offset)
{%- endmacro %}

{#- Runs of offsets without a gap, in their order, with what the changes in each tell; the first of each partition. -#}
{% macro runs_of_offsets(results, most) -%}
    select topic, partition, first_offset, last_offset, place, committed_at, ingested_at
    from (
        select
            topic,
            partition,
            min(offset) as first_offset,
            max(offset) as last_offset,
            max(sequence) filter (where kind in {{ CHANGES }} and committed_at is not null) as place,
            unix_micros(max(committed_at) filter (where kind in {{ CHANGES }})) as committed_at,
            unix_micros(min(ingested_at)) as ingested_at,
            row_number() over (partition by topic, partition order by min(offset)) as number
        from (
            select *, offset - dense_rank() over (partition by topic, partition order by offset) as run
            from {{ results }}
        )
        group by topic, partition, run
    )
    where number <= {{ most }}
    order by topic, partition, number
{%- endmacro %}

{#- The topics of full extracts, each with the topics that carry changes of its table. -#}
{% macro topics_of_extracts() -%}
    select extracts.topic as extract, min(changes.topic) as topic
    from silver.result_counts as extracts
    inner join silver.result_counts as changes
        on
            extracts.database_name <=> changes.database_name
            and extracts.schema_name <=> changes.schema_name
            and extracts.table_name = changes.table_name
    where extracts.format = 'full_extract' and changes.format <> 'full_extract'
    group by extracts.topic
{%- endmacro %}

{#-
    The changes of each source from its floor on that share a commit time and a transaction, as one row; a limit is a row per topic.
    `open_groups` are such rows that an earlier run has kept.
-#}
{% macro groups_of_changes(limits, results, open_groups) -%}
    select
        source,
        any_value(bound) as bound,
        any_value(heard) as heard,
        committed_at,
        transaction_id,
        min(place) as first_place,
        max(place) as last_place,
        min(bronze_version) as version
    from (
        select
            limits.*,
            {{ place_of_change('limits.is_by_time', 'results.sequence', 'results.committed_at') }} as place,
            results.committed_at,
            results.transaction_id,
            results.bronze_version
        from {{ results }} as results
        inner join values {{ limits }} as limits (topic, source, is_by_time, floor, bound, heard)
            on results.topic = limits.topic
        where results.kind in {{ CHANGES }}
    )
    where place >= floor
    group by source, committed_at, transaction_id
    {%- if open_groups %}
    union all
    select source, bound, heard, timestamp_micros(committed_at), transaction_id, first_place, last_place, version
    from values {{ open_groups }} as kept (source, bound, heard, first_place, last_place, committed_at, transaction_id, version)
    {%- endif %}
{%- endmacro %}

{#-
    Where the transactions of each source are complete, by its `groups_of_changes`: those are that have no change at the bound
    or behind it, as none has that was committed when a mark was written that is waited for. What shares its commit time or its
    transaction with a change behind the bound is not complete.
-#}
{% macro complete_places() -%}
    with bounds as (
        select
            source,
            min(first_place) filter (where unix_micros(committed_at) >= heard) as heard_place,
            least(any_value(bound), min(first_place) filter (where unix_micros(committed_at) >= heard)) as bound
        from groups_of_changes
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
        unix_micros(min(committed_at) filter (where last_place >= cut)) as open_since,
        unix_micros(max(committed_at) filter (where cut is null or last_place < cut)) as last_commit,
        max(last_place) as last_place,
        min(version) filter (where last_place >= cut) as open_version,
        count_if(last_place >= cut) as open_groups
    from groups_of_changes as changes
    inner join cuts
        on changes.source = cuts.source
    group by changes.source
{%- endmacro %}

{#- Bounds taken back to the first of the changes that share a column with one at the bound or behind it. -#}
{% macro bounds_before_what_is_open(bounds, column) -%}
    select bounds.source, any_value(heard_place) as heard_place, least(any_value(bound), min(alike.first_place)) as bound
    from {{ bounds }} as bounds
    left join (
        select source, min(first_place) as first_place, max(last_place) as last_place
        from groups_of_changes
        where {{ column }} is not null
        group by source, {{ column }}
    ) as alike
        on bounds.source = alike.source and last_place >= bound
    group by bounds.source
{%- endmacro %}

{#- What is not complete before the cuts of sources. -#}
{% macro groups_from_cuts(cuts) -%}
    select changes.source, first_place, last_place, unix_micros(committed_at) as committed_at, transaction_id, version
    from groups_of_changes as changes
    inner join values {{ cuts }} as cuts (source, cut)
        on changes.source = cuts.source
    where last_place >= cut
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
