"""Keep the Delta tables of the lakehouse small: compact, checkpoint, vacuum, clean up."""

import re
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.delta.commit import USER_METADATA, set_for_one_statement
from cdc_lakehouse.delta.disk import files_on_disk
from cdc_lakehouse.delta.log import (
    clean_log,
    count_commits,
    is_table,
    live_files,
    tables_in,
)
from cdc_lakehouse.delta.past import note_again, read_mark
from cdc_lakehouse.errors import LakehouseError, short_message
from cdc_lakehouse.runtime.locks import (
    Lock,
    hold,
    hold_tables_alone,
    hold_to_commit,
    known_locks,
)
from cdc_lakehouse.runtime.paths import lakehouse_dir, warehouse_path, work_dir
from cdc_lakehouse.runtime.progress import showing
from cdc_lakehouse.runtime.served import join_served
from cdc_lakehouse.runtime.session import open_session, stopping
from cdc_lakehouse.runtime.shared_metastore import is_shared
from cdc_lakehouse.sql import identifier
from cdc_lakehouse.storage.files import Location, fitting

MEBIBYTE = 1 << 20
FILE_SIZE = 128 * MEBIBYTE  # bytes; smaller files of a table are put together up to it
# A writer that has not committed yet must find its files; no run of a pipeline takes this long.
SHORTEST = timedelta(hours=1)
LEFT_OVER_AFTER = timedelta(days=1)
BRIEFLY = 30  # seconds to wait for an ingest, which holds bronze while it reroutes
UNITS = ("minute", "hour", "day", "week")
# Commits that bring no row: a reader that has not read them misses nothing.
WITHOUT_ROWS = ("OPTIMIZE", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES")
WAIT = "Run again when it has ended, or give --wait SECONDS."
SETTINGS = {
    "spark.databricks.delta.optimize.maxFileSize": str(FILE_SIZE),
    "spark.databricks.delta.optimize.minFileSize": str(FILE_SIZE),
    # A clustered part of a table that has reached its size is not rewritten; by default 100 GB.
    "spark.databricks.delta.optimize.clustering.mergeStrategy.minCubeSize.threshold": str(1 << 30),
    "spark.databricks.delta.optimize.clustering.mergeStrategy.minCubeSize.targetCubeSize": str(
        1 << 30
    ),
    # SHORTEST takes its place.
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # Its commits would make a table look changed to those that read what is new.
    "spark.databricks.delta.vacuum.logging.enabled": "false",
}


@dataclass
class Maintained:
    """The result for a table: the files it consists of, and those that are left on disk."""

    table: str
    files_before: int
    bytes_before: int
    files: int = 0
    bytes: int = 0
    files_deleted: int = 0
    bytes_deleted: int = 0
    files_on_disk: int = 0
    log_entries: int = 0


@dataclass
class MaintainReport:
    """What a run did for each table, and what it left out and why."""

    tables: list[Maintained] = field(default_factory=list)
    left_overs: int = 0
    notes: list[str] = field(default_factory=list)  # nothing to be done about
    problems: list[str] = field(default_factory=list)
    seconds: float = 0


def parse_duration(text: str) -> timedelta:
    """Return the duration that a text like `7 days` or `12 hours` names.

    Raises:
        LakehouseError: it names none.
    """
    match = re.fullmatch(r"\s*(\d{1,6})\s*([a-z]+?)s?\s*", text.lower())
    if match is None or match[2] not in UNITS:
        raise LakehouseError(
            f"{text!r} is no duration. Write a number and a unit, for example '7 days': "
            f"{', '.join(f'{unit}s' for unit in UNITS)}."
        )
    return timedelta(**{f"{match[2]}s": int(match[1])})


def maintain(
    retention: timedelta = timedelta(days=7), wait: float = 0, shortest: timedelta = SHORTEST
) -> MaintainReport:
    """Compact, checkpoint and vacuum every table of the lakehouse.

    Bronze needs no metastore and never stands in the way of an ingest. If another process has the
    metastore, the tables of silver and gold are left out and named in the report.

    Args:
        retention: files that no longer belong to a table, and left-overs of killed runs, are
            deleted when they are older.
        wait: seconds to wait for those who hold a lock.
        shortest: the shortest retention that is allowed.

    Raises:
        LakehouseError: the retention is too short, there are no tables, Spark fails.
    """
    if retention < shortest:
        raise LakehouseError(
            f"A retention of {retention} could delete files that a run is writing. "
            f"Give {shortest} at least."
        )
    if not warehouse_path("bronze", bronze.MESSAGES).exists():
        raise LakehouseError(
            f"{lakehouse_dir()} has no tables yet. Run `lakehouse ingest files PATH`."
        )
    began_at = time.monotonic()
    report = MaintainReport()
    again = "No table has lost anything by it: run again when the cause is removed."
    with stopping("The maintenance", again):
        spark = open_session(metastore=False).newSession()
        for name, value in SETTINGS.items():
            spark.conf.set(name, value)
        deadline = began_at + wait
        with ExitStack() as held:
            soonest = max(deadline, began_at + BRIEFLY)
            take = partial(hold_to_commit, "bronze", WAIT)
            if lock := _hold(take, soonest, "The tables of bronze", report):
                held.enter_context(lock)
                _maintain_schemas(spark, _is_bronze, retention, report)
        if tables := _hold_tables(deadline, report):
            with tables:
                _maintain_schemas(spark, lambda path: not _is_bronze(path), retention, report)
    report.left_overs = _remove_left_overs()
    report.seconds = time.monotonic() - began_at
    return report


def _hold_tables(deadline: float, report: MaintainReport) -> ExitStack | None:
    """Keep others from writing silver and gold; where they are served, by the write lock, too."""
    held, served = ExitStack(), join_served()
    if served:
        held.callback(served.close)
        served.acquire_write_lock()
    if not served or is_shared():
        take = partial(hold_tables_alone, WAIT, are_read=True)
        if not (lock := _hold(take, deadline, "The tables of silver and gold", report)):
            held.close()
            return None
        held.enter_context(lock)
    return held


def _hold(
    take: Callable[[], Lock], deadline: float, what: str, report: MaintainReport
) -> Lock | None:
    while True:
        try:
            return take()
        except LakehouseError as error:
            if time.monotonic() >= deadline:
                report.problems.append(f"{what}: {error}")
                return None
        time.sleep(0.2)


def _is_bronze(path: Location) -> bool:
    return path.parent.name == "bronze.db"


def _maintain_schemas(
    spark: SparkSession,
    wanted: Callable[[Location], bool],
    retention: timedelta,
    report: MaintainReport,
) -> None:
    schemas = fitting(lakehouse_dir() / "warehouse", "*.db")
    paths = [path for schema in schemas for path in tables_in(schema) if wanted(path)]
    done = 0
    with showing("maintains", len(paths), "tables", lambda: done):
        for path in paths:
            try:
                _maintain_table(spark, path, retention, report)
            except (PySparkException, Py4JError) as error:
                report.problems.append(f"{_name(path)}: {short_message(error)}")
            done += 1


def _maintain_table(
    spark: SparkSession, path: Location, retention: timedelta, report: MaintainReport
) -> None:
    table = f"delta.{identifier(str(path))}"
    done = Maintained(_name(path), *live_files(spark, path))
    if done.files_before:
        note = note_again(path)  # the log is about to be cleaned
        with set_for_one_statement(spark, {USER_METADATA: note} if note else {}):
            spark.sql(f"optimize {table}").collect()
    if lag := _lag_of_silver(spark, path, retention):
        report.notes.append(lag)
    else:
        files, size = files_on_disk(path)
        if files > live_files(spark, path)[0]:
            spark.sql(f"vacuum {table} retain {retention.total_seconds() / 3600} hours").collect()
        left, size_left = files_on_disk(path)
        done.files_deleted, done.bytes_deleted = files - left, size - size_left
    clean_log(spark, path)
    done.files, done.bytes = live_files(spark, path)
    done.files_on_disk, _ = files_on_disk(path)
    done.log_entries = count_commits(path)
    report.tables.append(done)


def _lag_of_silver(spark: SparkSession, path: Location, retention: timedelta) -> str | None:
    """Say why files of bronze.messages have to stay; None if they need not.

    Silver reads its commits one by one, and for that also the files that compaction has replaced
    since. What is older than the retention may go only when silver has read it.
    """
    events = warehouse_path("silver", "events")
    if path != warehouse_path("bronze", bronze.MESSAGES) or not is_table(events):
        return None
    read = read_mark(spark, events, "bronze.messages").version
    if read is None:
        return None
    oldest = datetime.now(UTC) - retention
    history = spark.sql(f"describe history {bronze.by_path(bronze.MESSAGES)}")
    (unread,) = (
        history.where(F.col("version") > read)
        .where(~F.col("operation").isin(*WITHOUT_ROWS))
        .agg(F.min("timestamp").alias("first"), F.count("*").alias("commits"))
        .collect()
    )
    if unread.first is None or unread.first.astimezone(UTC) > oldest:
        return None
    return (
        f"{_name(path)} was not vacuumed: silver has yet to read {unread.commits:,} commits of it, "
        f"the first of {unread.first:%Y-%m-%d %H:%M}. Run `dbt run` first."
    )


def _name(path: Location) -> str:
    return f"{path.parent.name.removesuffix('.db')}.{path.name}"


def _remove_left_overs() -> int:
    """Remove what killed runs left in tmp, if none of this lakehouse runs; return how much."""
    home = work_dir()
    oldest = time.time() - LEFT_OVER_AFTER.total_seconds()
    left = []
    for path in (home / "tmp").glob("*"):
        with suppress(FileNotFoundError):  # a run that ends removes its own
            if path.lstat().st_mtime < oldest:
                left.append(path)
    if not left:
        return 0
    with ExitStack() as held:
        try:
            for name in known_locks():
                held.enter_context(hold(name, ""))
        except LakehouseError:
            return 0  # they may be of the run that holds it
        for path in left:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
    return len(left)
