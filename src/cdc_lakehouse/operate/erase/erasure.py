"""Erase data subjects: every row and message of a table with their key, from all tables.

Nothing that an erasure writes names the key: statements find rows by their place in the topics.
"""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import SparkSession

from cdc_lakehouse.bronze import operations
from cdc_lakehouse.bronze.removal import ERASURE, Removal, interrupted
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.gold.read_models import models_of
from cdc_lakehouse.operate.erase.carry_out import (
    STOP,
    Locks,
    carry_out,
    refuse_unprocessed,
    version_read_by_silver,
)
from cdc_lakehouse.operate.erase.other_tables import OtherTables
from cdc_lakehouse.operate.erase.report import (
    Report,
    erased_of,
    lines_not_reached,
    lines_of_counts,
    lines_of_found,
    lines_of_left,
    lines_of_unreached,
    log_folders,
)
from cdc_lakehouse.operate.erase.search import find_messages
from cdc_lakehouse.operate.erase.subjects import Subjects
from cdc_lakehouse.protection import read_protection
from cdc_lakehouse.runtime.locks import hold_tables_alone, hold_to_commit
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.runtime.session import stopping
from cdc_lakehouse.runtime.shared_metastore import is_shared


class Sessions(Protocol):
    """Where dbt has its Spark and the metastore in this process; an erasure works on the same."""

    def holds_metastore(self) -> bool:
        """Tell whether this process is the one that uses the metastore."""

    def root_session(self, overrides: dict[str, str]) -> SparkSession:
        """Return the Spark of this process, which it opens if need be."""


def erase(
    table: str | None,
    subjects: Sequence[dict[str, str]],
    project_dir: Path,
    dry_run: bool = False,
    *,
    sessions: Sessions,
) -> Report:
    """Remove data subjects from all tables and the disk; name the tables that have to be cleaned.

    An erasure that was interrupted is completed first; with no `table`, that is all.

    Args:
        table: DB.TABLE or DB.SCHEMA.TABLE of the source, names with dots in backticks.
        subjects: the canonical texts of the key's columns, by their names in the source.
        dry_run: find and count, change nothing.
        sessions: those of the dbt adapter, which runs in this process too.

    Raises:
        LakehouseError: nothing was done, or less than all: then the text says how to go on.
    """
    if table and not subjects:
        raise LakehouseError("Name the data subject: --key COLUMN=VALUE, or --keys-file FILE.")
    if not table and not interrupted(ERASURE):
        raise LakehouseError("Name a table, `lakehouse erase DB.TABLE`: no erasure is unfinished.")
    report = Report()
    with _alone(sessions) as (spark, locks):
        if not dry_run:
            _complete_interrupted(spark, locks, project_dir, report)
        if table:
            found = Subjects(
                spark, table, subjects, read_protection(project_dir), models_of(project_dir)
            )
            _erase_subjects(spark, locks, found, project_dir, dry_run, report)
    return report


@contextmanager
def _alone(sessions: Sessions) -> Iterator[tuple[SparkSession, Locks]]:
    with ExitStack() as stack:
        locks = Locks(stack)
        locks.keep_writers_out()
        if is_shared():
            stack.enter_context(hold_tables_alone(STOP))
        elif not sessions.holds_metastore():
            hold_tables_alone(STOP).close()  # dbt takes it below; known here in no time
        stack.enter_context(hold_to_commit("bronze", STOP))
        again = "When the cause is removed, `lakehouse erase` alone completes what was begun."
        with stopping("The erasure", again, DbtRuntimeError):
            if not warehouse_path("silver", "events").exists():
                raise LakehouseError("There is no silver.events yet. Run `dbt build`.")
            spark = sessions.root_session({}).newSession()
            operations.complete_operations(spark)  # from the log that is about to be cut
            yield spark, locks


def _complete_interrupted(
    spark: SparkSession, locks: Locks, project_dir: Path, report: Report
) -> None:
    for removal in interrupted(ERASURE):
        counts = carry_out(spark, locks, removal)
        report.erased.append(erased_of(removal, counts, None, began_at=removal.began_at))
        report.lines += [*lines_of_counts(counts), *lines_not_reached(removal.files)]
        folders = " and ".join(map(str, log_folders(project_dir)))
        report.lines.append(f"  logs of earlier runs: search {folders} for the key")
        report.lines += lines_of_left(removal.left, removal.undecided)
        what = f"The erasure that was interrupted on {removal.began_at}"
        report.conclude(what, removal.left)


def _erase_subjects(
    spark: SparkSession,
    locks: Locks,
    subjects: Subjects,
    project_dir: Path,
    dry_run: bool,
    report: Report,
) -> None:
    refuse_unprocessed(spark, version_read_by_silver(spark))
    number = uuid.uuid4().hex
    found = find_messages(spark, subjects)
    OtherTables(spark, subjects, number).look_at_all(found)
    left = lines_of_left(found.left, found.undecided)
    about = partial(erased_of, found, table=str(subjects.table), is_dry_run=dry_run)
    if not found.rows and not found.messages:
        report.lines += [f"Nothing found of {subjects.text()} in {subjects.table}.", *left]
        report.is_complete = report.is_complete and not found.left
        report.erased.append(about(counts={}))
        return
    if dry_run:
        report.erased.append(about(counts={}))
        report.lines += [*lines_of_found(subjects, found, {}, dry_run), *left]
        report.lines.append("Nothing was changed: a dry run.")
        return
    names = ("rows", "models", "tests", "cleaned", "hashes", "left", "undecided", "files")
    what = {name: getattr(found, name) for name in names}
    removal = Removal(ERASURE, subjects.selection(), found.runs, **what, number=number)
    removal.begin()
    counts = carry_out(spark, locks, removal)
    report.erased.append(about(counts=counts))
    report.lines += lines_of_found(subjects, found, counts, dry_run)
    report.lines += [*lines_of_unreached(subjects, found, project_dir), *left]
    report.conclude("The erasure", found.left)
