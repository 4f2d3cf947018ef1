"""Read what Delta's log says about a table, without a query."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from cdc_lakehouse.runtime.jvm import java_session, jvm_of
from cdc_lakehouse.storage.files import Location

LOG = "_delta_log"  # the folder of a table that holds its commits


def snapshot(spark: SparkSession, path: Location) -> JavaObject:
    """Return the latest state of the table in a folder, an object of Delta's."""
    nothing = jvm_of(spark).scala.Option.empty()
    return delta_log(spark, path).update(False, nothing, nothing)


def latest_version(spark: SparkSession, path: Location) -> int:
    """Return the number of the table's latest commit."""
    return int(snapshot(spark, path).version())


def live_files(spark: SparkSession, path: Location) -> tuple[int, int]:
    """Return number and bytes of the files that the table consists of."""
    latest = snapshot(spark, path)
    return latest.numOfFiles(), latest.sizeInBytes()


def clean_log(spark: SparkSession, path: Location) -> None:
    """Write a checkpoint, and delete the commits that Delta need not keep any longer."""
    latest = snapshot(spark, path)
    latest.deltaLog().checkpointAndCleanUpDeltaLog(latest, jvm_of(spark).scala.Option.empty())


def table_properties(spark: SparkSession, path: Location) -> dict[str, str]:
    """Return the properties of the table in a folder."""
    return properties_of(spark, snapshot(spark, path))


def properties_of(spark: SparkSession, state: JavaObject) -> dict[str, str]:
    """Return the properties that a table has in a state of it, an object of Delta's."""
    found = state.metadata().configuration()
    return dict(jvm_of(spark).scala.jdk.javaapi.CollectionConverters.asJava(found))


def transaction_version(spark: SparkSession, path: Location, application: str) -> int:
    """Return the newest transaction version of `application` in the table, -1 if there is none."""
    marks = last_transactions(path)
    if marks is not None:
        return marks.get(application, -1)
    # Delta has to read the whole log for it.
    found = snapshot(spark, path).transactions().get(application)
    return found.get() if found.isDefined() else -1


def last_checksum(path: Location) -> dict[str, Any] | None:
    """Return what Delta wrote beside the table's latest commit: sizes, transactions, metadata.

    It takes no Spark.

    Returns:
        None if the commit has no checksum that can be read; a killed process has written none. The
        checksum of a former commit with the same number does not count.
    """
    commit = _last_commit(path)
    if commit is None:
        return None
    try:
        checksum: dict[str, Any] = json.loads(commit.with_suffix(".crc").read_text())
        own = checksum.get("txnId")
        return checksum if not own or own in commit.read_text(encoding="utf-8") else None
    except (OSError, ValueError):
        return None


def last_transactions(path: Location) -> dict[str, int] | None:
    """Return the newest transaction version of each application; None if the log must be read."""
    marks = (last_checksum(path) or {}).get("setTransactions")
    return None if marks is None else {mark["appId"]: mark["version"] for mark in marks}


def bytes_since(path: Location, version: int | None) -> int | None:
    """Return how many bytes of files have come after `version` of a table; None counts all.

    Returns:
        None if that is not known without Delta: a commit is not there, or has no checksum.
    """
    if version is None:
        return (last_checksum(path) or {}).get("tableSizeBytes")
    try:
        added = [action["add"] for action in actions_since(path, version) if "add" in action]
    except (OSError, ValueError):  # if it is damaged, Delta says so
        return None
    size: int = sum(file["size"] for file in added if file["dataChange"])
    return size


def partitions_since(path: Location, version: int, last: int, column: str) -> set[str] | None:
    """Return the values of a partitioning column in what commits have written.

    Args:
        path: the table's folder.
        version: the commits are those after it,
        last: and up to it.

    Returns:
        Values of which a commit has added, changed or removed rows; compaction has not. None if a
        commit is not there, or cannot be read.
    """
    values = set()
    try:
        for action in actions_since(path, version, last):
            file = action.get("cdc") or action.get("add")
            if file and (file["dataChange"] or "cdc" in action):
                values.add(file["partitionValues"][column])
    except (OSError, ValueError):
        return None
    return values


def appended_since(
    path: Location, version: int, last: int, saying: str
) -> list[list[dict[str, Any]]] | None:
    """Return the files that each commit after `version` up to `last` has appended to a table.

    Returns:
        None if a commit did anything else to the table's rows or its user metadata does not begin
        with `saying`, or if it cannot be read. Compaction does nothing to the rows.
    """
    appended = []
    try:
        for commit in range(version + 1, last + 1):
            actions = list(actions_of(path, commit))
            changed = [name for a in actions for name in a if a[name].get("dataChange")]
            if any("cdc" in action for action in actions) or "remove" in changed:
                return None
            if "add" in changed:
                if not all((said or "").startswith(saying) for said in _user_metadata(actions)):
                    return None
                appended.append([action["add"] for action in actions if "add" in action])
    except (OSError, ValueError):
        return None
    return appended


def last_user_metadata(path: Location) -> str | None:
    """Return the text of ours that the table's latest commit keeps; None if it has none."""
    last = _last_commit(path)
    try:
        said = _user_metadata(actions_of(path, int(last.stem))) if last else []
    except (OSError, ValueError):  # if it is damaged, Delta says so
        return None
    return said[0] if said else None


def earliest_version(path: Location) -> int | None:
    """Return the number of the oldest commit that the table's log still holds."""
    return min((int(commit.stem) for commit in _commits(path)), default=None)


def is_table(path: Location) -> bool:
    """Tell whether the folder holds a Delta table.

    It does not before its first commit is made, or if that commit was killed.
    """
    return _last_commit(path) is not None


def tables_in(folder: Location) -> list[Location]:
    """Return the folders in `folder` that hold Delta tables, sorted."""
    return sorted(path for path in folder.glob("*") if is_table(path))


def committed_at(path: Location) -> float:
    """Return when the table's latest commit was written, in seconds since 1970; 0 if there is none.

    It takes no Spark.
    """
    commit = _last_commit(path)
    return commit.stat().st_mtime if commit else 0.0


def count_commits(path: Location) -> int:
    """Return how many commits the table's log still holds."""
    return sum(1 for _ in _commits(path))


def live_files_in_log(path: Location) -> list[dict[str, Any]] | None:
    """Return the files that a table consists of, from its latest checksum; None of many files."""
    return (last_checksum(path) or {}).get("allFiles")


def count_rows(spark: SparkSession, path: Location) -> int:
    """Return the number of rows of a table, from its latest checksum if that names its files."""
    files = live_files_in_log(path)
    try:
        if files is not None:
            rows: int = sum(
                json.loads(file["stats"])["numRecords"]
                - (file.get("deletionVector") or {}).get("cardinality", 0)
                for file in files
            )
            return rows
    except (TypeError, KeyError):  # of files without statistics
        pass
    return spark.read.format("delta").load(str(path)).count()


def read_beside(spark: SparkSession, path: Location, name: str) -> str | None:
    """Return the text of a file in a table's folder; None if it cannot be read."""
    log = delta_log(spark, path)
    file = jvm_of(spark).org.apache.hadoop.fs.Path(str(path / name))
    try:
        text: str = log.store().read(file, log.newDeltaHadoopConf()).mkString("\n")
    except Py4JJavaError:
        return None
    return text


def write_beside(spark: SparkSession, path: Location, name: str, text: str) -> None:
    """Write a file in a table's folder, whole or not at all, wherever Delta can keep a table.

    Args:
        name: begins with _, so that Delta and its VACUUM leave the file alone.
        text: of one line or several.
    """
    log = delta_log(spark, path)
    file = jvm_of(spark).org.apache.hadoop.fs.Path(str(path / name))
    lines = jvm_of(spark).scala.jdk.javaapi.CollectionConverters.asScala(
        jvm_of(spark).java.util.List.of(text).iterator()
    )
    log.store().write(file, lines, True, log.newDeltaHadoopConf())


def delta_log(spark: SparkSession, path: Location) -> JavaObject:
    """Return Delta's object for a table's log, which has not looked for new commits."""
    # Delta reads a checkpoint lazily, in the session of the thread, which no query may have set.
    jvm_of(spark).org.apache.spark.sql.classic.SparkSession.setActiveSession(java_session(spark))
    return jvm_of(spark).org.apache.spark.sql.delta.DeltaLog.forTable(
        java_session(spark), str(path)
    )


def actions_since(
    path: Location, version: int, last: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield what the commits after `version` of a table, up to `last`, did: the log's files.

    Raises:
        OSError, ValueError: a commit has been removed, or cannot be read.
    """
    if last is None:
        newest = last_commit(path)
        last = -1 if newest is None else newest
    for commit in range(version + 1, last + 1):
        yield from actions_of(path, commit)


def actions_of(path: Location, commit: int) -> Iterator[dict[str, Any]]:
    """Yield what a commit of a table did.

    Raises:
        OSError, ValueError: it has been removed, or cannot be read.
    """
    yield from map(json.loads, filter(None, text_of_commit(path, commit).split("\n")))


def text_of_commit(path: Location, commit: int) -> str:
    """Return what the log has of a commit, an action a line.

    Raises:
        OSError, ValueError: it has been removed, or is no text.
    """
    return (path / LOG / f"{commit:020}.json").read_text(encoding="utf-8")


def last_commit(path: Location) -> int | None:
    """Return the number of the table's latest commit, without Spark; None if it has none."""
    last = _last_commit(path)
    return int(last.stem) if last else None


def _user_metadata(actions: Iterable[dict[str, Any]]) -> list[str | None]:
    """Return the texts that the actions of a commit keep: one, unless it says nothing of itself."""
    return [
        action["commitInfo"].get("userMetadata") for action in actions if "commitInfo" in action
    ]


def _last_commit(path: Location) -> Location | None:
    return max(_commits(path), default=None)


def _commits(path: Location) -> Iterator[Location]:
    return (path / LOG).glob("[0-9]*[0-9].json")
