"""Ask Delta's log and Spark about the change log, and about the messages that are new to it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import Row, SparkSession

from cdc_lakehouse.bronze.tables import EACH_ONCE, IDENTITY
from cdc_lakehouse.delta.log import (
    appended_since,
    earliest_version,
    live_files_in_log,
    partitions_since,
    read_beside,
    snapshot,
    table_properties,
    write_beside,
)
from cdc_lakehouse.delta.past import (
    Mark,
    identifier_of,
    keeps_rows_since,
    read_mark,
    why_not_of_past,
)
from cdc_lakehouse.delta.statistics import extents_of
from cdc_lakehouse.delta.stored_columns import (
    changed_columns,
    required_columns,
    types_of_columns,
    types_of_schema,
)
from cdc_lakehouse.engine.duplicates import reach
from cdc_lakehouse.engine.latest_changes import (
    FILE,
    LatestChanges,
    Run,
    counts_of,
    first_sequences_of,
    furthest,
    nothing_known,
    query_of_latest,
    query_of_rows,
    read_latest,
    sequences_of,
)
from cdc_lakehouse.engine.loss import LostRows, query_of_lost_rows
from cdc_lakehouse.engine.new_messages import QUERY, NewMessages, from_commits, from_rows
from cdc_lakehouse.engine.reprocessed import PROPERTY, with_tables
from cdc_lakehouse.engine.window import PROTECTED, Build, Window, decide_build, refuse_restored
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.storage.files import Location

DELETION_VECTORS = "delta.enableDeletionVectors"
MESSAGES = "bronze.messages"


def plan_window(
    spark: SparkSession,
    table: str,
    path: Location,
    columns: Sequence[Mapping[str, Any]],
    exists: bool,
    is_asked: bool,
    protected: str = "",
) -> Window:
    """Return what a run of a change log reads; Delta's log tells, unless it does not reach back.

    Args:
        table, path: the change log and its folder.
        columns: those of its contract: name, data_type, constraints.
        exists: whether there is such a table.
        is_asked: whether a person asks to build it again.
        protected: what stands for its protected columns.

    Raises:
        LakehouseError: it would lose rows, or bronze is not as far as it has been read.
    """
    build = Build(exists=False)
    if exists:
        build = _build(spark, table, path, columns, is_asked, protected)
    read, messages = None, warehouse_path(*MESSAGES.split("."))
    if exists and not build.rebuild:
        read = version_read(spark, path)
    last = snapshot(spark, messages).version()
    since = -1 if read is None else read
    formats, earliest = formats_between(spark, since, last), earliest_version(messages)
    reaches_back = earliest is not None and earliest <= since + 1
    return Window(
        table,
        path,
        columns,
        MESSAGES,
        read,
        last,
        build,
        formats,
        reaches_back,
        protected,
        identifier_of(messages, last),
    )


def version_read(spark: SparkSession, path: Location) -> int | None:
    """Return up to which commit the rows of a change log have read bronze.messages.

    Args:
        path: its folder.

    Returns:
        None if it has read nothing.

    Raises:
        LakehouseError: bronze is another one than that.
    """
    mark = read_mark(spark, path, MESSAGES)
    table = f"{path.parent.name.removesuffix('.db')}.{path.name}"
    refuse_restored(table, mark, found_of_messages(mark))
    return mark.version


def found_of_messages(mark: Mark) -> str | None:
    """Return what was found of bronze.messages if it is not the one that a table has read.

    Args:
        mark: how far it has.
    """
    if mark.version is None:
        return None
    return why_not_of_past(warehouse_path(*MESSAGES.split(".")), mark.version, mark.source)


def _build(
    spark: SparkSession,
    table: str,
    path: Location,
    columns: Sequence[Mapping[str, Any]],
    is_asked: bool,
    protected: str,
) -> Build:
    before = table_properties(spark, path).get(PROTECTED, "")
    stored = types_of_schema(snapshot(spark, path).schema().json())
    contract = types_of_columns(spark, columns)
    lost = None
    if is_asked or changed_columns(stored, contract) or before != protected:
        lost = LostRows(*spark.sql(query_of_lost_rows(table)).collect()[0])
    required = required_columns(columns)
    return decide_build(table, is_asked, stored, contract, required, lost, (before, protected))


def formats_between(spark: SparkSession, read: int, last: int) -> frozenset[str]:
    """Return the formats of which commits of bronze.messages after `read` up to `last` have rows.

    Some may have none: those of which messages were removed.
    """
    if read == last:
        return frozenset()
    found = partitions_since(warehouse_path(*MESSAGES.split(".")), read, last, "format")
    if found is None:
        rows = spark.sql(
            f"select distinct format from {MESSAGES} version as of {last} "
            f"where _metadata.row_commit_version > {read}"
        )
        found = {row.format for row in rows.collect()}
    return frozenset(found)


def find_new_messages(spark: SparkSession, window: Window) -> NewMessages | None:
    """Make the temporary view new_deliveries and say what is in it; None if nothing is new.

    The log tells where every commit has only brought messages, each once; if not, the messages do.
    """
    if window.is_empty:
        return None
    spark.sql(window.deliveries).createOrReplaceTempView("new_deliveries")
    found = _told_by_log(window) or from_rows(spark.sql(QUERY).collect())
    if window.read is None:
        return found
    if not found.extents:
        return None
    return replace(found, are_known=_are_known(spark, window, found))


def _told_by_log(window: Window) -> NewMessages | None:
    since = -1 if window.read is None else window.read
    commits = appended_since(warehouse_path(*MESSAGES.split(".")), since, window.last, EACH_ONCE)
    extents = [extents_of(files, IDENTITY) for files in commits or ()]
    known = [each for each in extents if each is not None]
    return None if commits is None or len(known) < len(extents) else from_commits(known)


def _are_known(spark: SparkSession, window: Window, found: NewMessages) -> bool:
    """Tell whether the change log has rows where the new messages lie: its files, or a query."""
    files = live_files_in_log(window.path)
    extents = None if files is None else extents_of(files, IDENTITY)
    if extents is not None and not any(
        new.overlaps(processed) for new in found.extents for processed in extents
    ):
        return False
    known = spark.sql(f"select 1 from {window.table} where {found.ranges} limit 1")
    return bool(known.collect())


def find_latest_changes(
    spark: SparkSession, window: Window, found: NewMessages, names_of_dropped: str
) -> LatestChanges:
    """Make the temporary view latest_changes: how far earlier runs came in each source table.

    Where messages are processed again, the rows that they had so far do not count, for they may
    have been wrong; nor does the file of the last run.

    Args:
        names_of_dropped: as of `query_of_latest`.

    Returns:
        What is known of the runs before this one.
    """
    known = nothing_known(window.read)
    if window.read is not None:
        without = "reprocessed_rows" if found.reprocesses else None
        kept = None if without else read_kept(spark, window.path)
        if kept and kept.bronze_version == window.read:
            known = kept
        else:
            since = kept.bronze_version if kept else -1
            query = query_of_latest(window.table, since, names_of_dropped, without)
            latest = sequences_of(spark.sql(query).collect())
            known = replace(known, sequences=furthest(kept.sequences if kept else {}, latest))
    spark.sql(query_of_rows(known.sequences)).createOrReplaceTempView("latest_changes")
    return known


def read_kept(spark: SparkSession, path: Location) -> LatestChanges | None:
    """Return what the last runs of a change log have left, if it still holds for the table."""
    kept = read_latest(read_beside(spark, path, FILE))
    return kept if kept and keeps_rows_since(path, kept.version, kept.commit) else None


def count_processed(
    spark: SparkSession, window: Window, names_of_dropped: str, rows: str
) -> list[Row]:
    """Return how far this run has come in each source table, and how many changes it has processed.

    Args:
        names_of_dropped: as of `query_of_latest`.
        rows: the change log, or a view of the rows that this run writes to it.
    """
    since = -1 if window.read is None else window.read
    return spark.sql(query_of_latest(rows, since, names_of_dropped)).collect()


def earlier_duplicates(rows: Iterable[Any], known: LatestChanges) -> str | None:
    """Return the condition on rows of earlier runs of which a row of this run may be a duplicate.

    Args:
        rows: those that `count_processed` returns.
        known: what is known of the earlier runs.

    Returns:
        None if none can be.
    """
    return reach(first_sequences_of(rows), sequences_of(rows), known.sequences)


def keep_latest_changes(
    spark: SparkSession, window: Window, known: LatestChanges, rows: Iterable[Any]
) -> None:
    """Leave for the next run how far this one has come, and what it has processed.

    Args:
        rows: those that `count_processed` returns.
    """
    version = snapshot(spark, window.path).version()
    run = Run(window.last, counts_of(rows))
    commit = identifier_of(window.path, version)
    latest = known.with_run(version, run, sequences_of(rows), commit)
    write_beside(spark, window.path, FILE, latest.text())


def properties_of_reprocessing(spark: SparkSession, window: Window, tables: str) -> dict[str, str]:
    """Return the properties that the change log needs before messages are processed again.

    Rows are then deleted by marks beside their files. Not before: to see whether a file has such
    marks, every query lists all files of the table.

    Args:
        tables: the query of the source tables of which changes are processed again.
    """
    values, stored = {}, table_properties(spark, window.path)
    if found := spark.sql(tables).collect():
        values[PROPERTY] = with_tables(stored.get(PROPERTY), found, window.last)
    if stored.get(DELETION_VECTORS) != "true":
        values[DELETION_VECTORS] = "true"
    return values
