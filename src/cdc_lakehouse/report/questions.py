"""The SQL of the report: queries on the views of silver, or on the change log if no view has it.

Columns have the names of the facts that they become.
"""

import shlex
from collections.abc import Collection, Iterable, Sequence

from pyspark.sql import Row

from cdc_lakehouse.engine.order import order_key, removed_by
from cdc_lakehouse.engine.projection import text_under
from cdc_lakehouse.sql import identifier, quoted

MOST_ROWS = 1_000  # of gaps, drift and reasons: what a person looks through

PARTITIONS = """
    select
        topic, partition, messages, row_changes, snapshots, inserts, updates, deletes, truncates,
        schema_changes, heartbeats, transaction_markers, controls, rejected,
        repeated_changes as duplicates, late_changes, missing_offsets, first_offset, last_offset,
        last_committed_at as committed_at, last_ingested_at as ingested_at
    from silver.message_accounting
    order by topic, partition
"""
PROGRESS = """
    select
        topic, partition, max_by(format, last_processed_at) as format,
        max(last_processed_at) as processed_at, max(last_commit).delay / 1000000 as delay_seconds
    from silver.result_counts
    group by topic, partition
"""
PRODUCED = """
    select
        events.topic, events.partition,
        max(coalesce(events.produced_at, events.committed_at)) as produced_at,
        max_by(files.landed_at is not null, events.ingested_at) as is_archive
    from silver.events as events
    left join (select distinct landed_at from bronze.landed_files) as files
        on events.ingested_at = files.landed_at
    group by events.topic, events.partition
"""
CAME_BY = "select max(ingested_at) as came from silver.events where bronze_version <= {commit}"
# What has been processed is in the commits of bronze up to the mark.
WAITING = """
    select
        topic, partition, max(format) as format, count(*) as unprocessed,
        min(ingested_at) as unprocessed_since
    from bronze.messages
    where _metadata.row_commit_version > {mark}
    group by topic, partition
"""
EXTENT = """
    select
        min(ingested_at) as first, max(ingested_at) as last,
        count(distinct topic, partition) as partitions
    from silver.events
"""
ARRIVALS = """
    select
        topic, partition, double(floor(unix_seconds(ingested_at) / {span}) * {span}) as began,
        count_if(row_number = 0) as messages, count_if(kind = 'rejected') as rejected
    from silver.events
    group by topic, partition, floor(unix_seconds(ingested_at) / {span})
    order by began
"""
GAPS = f"""
    select topic, partition, first_offset, last_offset, 'unread' as reason, found_at
    from bronze.offset_gaps
    union all
    select topic, partition, first_offset, last_offset, reason, removed_at as found_at
    from bronze.removed_messages
    order by found_at desc, topic, partition, first_offset
    limit {MOST_ROWS}
"""
REJECTED = f"""
    select
        topic, format, reject_reason, count(*) as messages, min(offset) as first_offset,
        max(offset) as last_offset, max(ingested_at) as last_ingested_at,
        min_by(reject_detail, struct(ingested_at, partition, offset)) as first_detail,
        min_by(
            struct(topic, partition, offset, bronze_version), struct(ingested_at, partition, offset)
        ) as first,
        max_by(
            struct(topic, partition, offset, bronze_version), struct(ingested_at, partition, offset)
        ) as last
    from silver.events
    where kind = 'rejected'
    group by topic, format, reject_reason
    order by messages desc, topic, reject_reason
    limit {MOST_ROWS}
"""
DRIFT = f"""
    select
        database_name, schema_name, table_name, column_name as column, drift, previous_name,
        previous_type, column_type as type,
        coalesce(ddl_committed_at, committed_at) as committed_at,
        topic, partition, offset, ddl
    from silver.schema_drift
    order by committed_at desc, database_name, table_name, column_name
    limit {MOST_ROWS}
"""
# When the messages at some places landed first.
LANDED = """
    select events.topic, events.partition, events.offset, min(events.ingested_at) as seen_at
    from silver.events as events
    inner join values {places} as places (topic, partition, offset)
        on
            events.topic = places.topic
            and events.partition = places.partition
            and events.offset = places.offset
    group by events.topic, events.partition, events.offset
"""
SOURCE_TABLES = """
    select
        database_name, schema_name, table_name, changes, late_changes,
        repeated_changes as duplicates, last_committed_at as committed_at,
        last_ingested_at as ingested_at, last_processed_at as processed_at,
        last_delay_seconds as delay_seconds
    from silver.table_accounting
    order by database_name, schema_name, table_name
"""
SOURCES = """
    select source, complete_until, gold_complete_until, newest_committed_at, waits_for, topic
    from silver.complete_until
    order by source
"""
PROBLEMS = """
    select table_name, column_name, code, problems, first_text
    from gold.gold_problems
    order by table_name, column_name, code
"""


def landed(places: Iterable[Row]) -> str:
    """Return the query of when messages landed first, by their places."""
    named = {(place.topic, place.partition, place.offset) for place in places}
    listed = (f"({quoted(t)}, {partition}, {offset})" for t, partition, offset in sorted(named))
    return LANDED.format(places=", ".join(listed))


def shared_keys(name: str, key: Iterable[Sequence[str]], tables: Iterable[str]) -> str:
    """Return the query of the keys of a gold table that rows of several source tables have.

    A row is there if its last change removed it not, and no TRUNCATE or extract came since.

    Args:
        name: of the gold table.
        key: of each column of its key the names in the source, the newest first.
        tables: the source tables that its model reads.
    """
    values = ", ".join(text_under("image", names) for names in key)
    listed = ", ".join(map(quoted, tables))
    order = order_key(mark="")
    return f"""
        select
            {quoted(name)} as `table`, count(*) as keys, min(key) as first_key,
            array_sort(array_distinct(flatten(collect_list(source_tables)))) as source_tables
        from (
            select key, collect_set(source_table) as source_tables
            from (
                select
                    source_table, key, max_by(operation, {order}) as operation,
                    max(sequence) as sequence, max(emptied) as emptied
                from (
                    select
                        *, to_json(array({values})) as key,
                        max(if(operation in ('truncate', 'extract'), sequence, '')) over (
                            partition by source_table
                        ) as emptied
                    from silver.row_images
                    where source_table in ({listed})
                )
                where operation not in ('truncate', 'extract')
                group by source_table, key
            )
            where operation <> 'delete' and not {removed_by("sequence", "emptied")}
            group by key
            having count(*) > 1
        )
        having count(*) > 0"""


def rows_of(table: str, columns: Collection[str], is_stored: bool) -> str:
    """Return the query of how many active rows a table has, and of its latest change.

    Args:
        table: its schema and its name.
        columns: the names of its columns.
        is_stored: whether gold_storage has a table of the name; else it is any table or view.
    """
    schema, name = table.split(".", 1)
    rows = "count_if(not _is_deleted)" if "_is_deleted" in columns else "count(*)"
    changed_at = "max(_committed_at)" if "_committed_at" in columns else "cast(null as timestamp)"
    if is_stored and "_committed_at" in columns:
        # A delete is a change, too, and the table has no row of it.
        changed_at = f"(select {changed_at} from gold_storage.{identifier(name)})"
    return f"""select {quoted(table)} as `table`, {rows} as `rows`, {changed_at} as changed_at
        from {schema}.{identifier(name)}"""


def samples(places: Iterable[Row], size: int) -> str:
    """Return the query of the first bytes of messages.

    Args:
        places: rows with topic, partition, offset and bronze_version.
        size: how many bytes of each.
    """
    named = ", ".join(
        f"({quoted(place.topic)}, {place.partition}, {place.offset}, {place.bronze_version})"
        for place in places
    )
    return f"""
        select
            messages.topic, messages.partition, messages.offset,
            substring(messages.value, 1, {size}) as value, length(messages.value) as size
        from bronze.messages as messages
        inner join values {named} as places (topic, partition, offset, bronze_version)
            on
                messages.topic = places.topic
                and messages.partition = places.partition
                and messages.offset = places.offset
                and messages._metadata.row_commit_version = places.bronze_version
        order by messages.topic, messages.partition, messages.offset
    """


def replay_command(topic: str, reason: str) -> str:
    """Return the command that requeues the messages of a topic that were rejected for a reason."""
    if reason == "unrouted_topic":
        return "lakehouse reroute"
    return f"lakehouse replay --reason {reason} --topic {shlex.quote(topic)}"


def query_of(view: str, column: str, values: Sequence[str]) -> str:
    """Return the command that shows the rows of a view that have one of some texts."""
    listed = ", ".join(map(quoted, values))
    condition = f"= {listed}" if len(values) == 1 else f"in ({listed})"
    return f"lakehouse query {in_shell(f'select * from {view} where {column} {condition}')}"


def in_shell(text: str) -> str:
    """Return a text as one word of a shell; one with single quotes alone stands in double ones."""
    return f'"{text}"' if "'" in text and not set(text) & set('"$`\\!') else shlex.quote(text)
