"""Change messages that have landed: one commit of bronze.messages each, with its audit."""

import getpass
import json
import os
import socket
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cdc_lakehouse.bronze import tables
from cdc_lakehouse.bronze.tables import (
    MESSAGES,
    OPERATIONS,
    by_path,
    committed_version,
    folder_of,
    microseconds,
    read,
)
from cdc_lakehouse.delta.commit import (
    USER_METADATA,
    set_for_one_statement,
    settings_of_transaction,
)
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.routes import UNROUTED, Routes
from cdc_lakehouse.sql import quoted

# The transactions by which the changes of bronze.messages and their audit rows are numbered.
AUDIT = "lakehouse operations"


def reroute(spark: SparkSession, routes: Routes) -> Counter[tuple[str, str]]:
    """Give the unrouted messages whose topics have a route by now their format, in one commit.

    The caller must hold the lock `bronze`.

    Returns:
        The number of messages by topic and format; where there are none, nothing is committed.
    """
    complete_operations(spark)
    # Each format has a folder of its own: without it, no log of a long history need be read.
    if not (folder_of(MESSAGES) / f"format={UNROUTED}").exists():
        return Counter()
    began_at = datetime.now(UTC)
    unrouted = read(spark, MESSAGES).where(F.col("format") == UNROUTED).groupBy("topic").count()
    found = Counter(
        {(topic, routes.format_of(topic)): count for topic, count in unrouted.collect()}
    )
    found = Counter({key: count for key, count in found.items() if key[1] != UNROUTED})
    if found:
        topics = ", ".join(quoted(topic) for topic, _ in found)
        formats = ", ".join(f"{quoted(topic)}, {quoted(name)}" for topic, name in found)
        change_messages(
            spark,
            f"update {by_path(MESSAGES)} set format = map({formats})[topic] "
            f"where format = {quoted(UNROUTED)} and topic in ({topics})",
            "reroute",
            began_at,
            {"format": UNROUTED, "topics": sorted(topic for topic, _ in found)},
        )
    return found


def put_in_line(
    spark: SparkSession,
    replayed: str,
    formats: dict[str, str],
    began_at: datetime,
    selection: dict[str, Any],
) -> int:
    """Requeue messages: one commit gives them the format of their topic, and dbt reprocesses them.

    The caller must hold the lock `bronze`. All deliveries of an identity are changed.

    Args:
        replayed: a temporary view of the messages' topic, partition and offset, each once.
        formats: the format of each topic.
        began_at: for the audit.
        selection: for the audit: which messages were asked for.

    Returns:
        The number of messages changed.
    """
    # Delta leaves out the files whose statistics say that they hold none of these.
    places = (
        spark.table(replayed)
        .groupBy("topic")
        .agg(*(each(name) for name in ("partition", "offset") for each in (F.min, F.max)))
    )
    ranges = " or ".join(
        f"(messages.topic = {quoted(topic)} and messages.partition between {first} and {last} "
        f"and messages.offset between {first_offset} and {last_offset})"
        for topic, first, last, first_offset, last_offset in places.collect()
    )
    listed = ", ".join(f"{quoted(topic)}, {quoted(name)}" for topic, name in formats.items())
    return change_messages(
        spark,
        f"merge into {by_path(MESSAGES)} as messages using {replayed} as replayed "
        "on messages.topic = replayed.topic and messages.partition = replayed.partition "
        f"and messages.offset = replayed.offset and ({ranges}) "
        f"when matched then update set format = map({listed})[messages.topic]",
        "replay",
        began_at,
        selection,
    )


def change_messages(
    spark: SparkSession,
    statement: str,
    operation: str,
    began_at: datetime,
    selection: dict[str, Any],
) -> int:
    """Run a statement that changes rows of bronze.messages in one commit, and record it.

    The caller must hold the lock `bronze`. The commit itself carries what bronze.operations will
    say about it: if the process dies between the two, the next operation completes the record.

    Args:
        statement: an UPDATE or a MERGE that is known to change rows.
        operation: reroute or replay.
        began_at: when it began, with its time zone.
        selection: which messages were asked for.

    Returns:
        The number of messages changed.

    Raises:
        LakehouseError: an operation that was killed has just committed after all.
    """
    complete_operations(spark)
    # After a restore one of the two tables may be behind the other.
    number = 1 + max(committed_version(spark, AUDIT, name) for name in (MESSAGES, OPERATIONS))
    record = {
        "number": number,
        "operation": operation,
        "began_at": microseconds(began_at),
        "performed_by": performer(),
        "selection": selection,
    }
    # Spark takes ${...} for a variable even there.
    kept = json.dumps({AUDIT: record}).replace("${", "$\\u007b")
    settings = {**settings_of_transaction(AUDIT, number), USER_METADATA: kept}
    with set_for_one_statement(spark, settings):
        spark.sql(statement)
    completed = complete_operations(spark)
    if [row["began_at"] for row in completed] != [record["began_at"]]:
        raise LakehouseError(
            f"The {operation} changed nothing: one that was killed was still at work. Run it again."
        )
    messages: int = completed[0]["messages"]
    return messages


def complete_operations(spark: SparkSession) -> list[dict[str, Any]]:
    """Record in bronze.operations the changes of bronze.messages that are not recorded yet.

    Returns:
        What was recorded, the oldest first.
    """
    recorded = committed_version(spark, AUDIT, OPERATIONS)
    if recorded >= committed_version(spark, AUDIT):
        return []
    commits = (
        spark.sql(f"describe history {by_path(MESSAGES)}")
        .where(F.col("userMetadata").startswith(json.dumps({AUDIT: {}})[:-2]))
        .orderBy("version")
    )
    completed = []
    for commit in commits.collect():
        record = json.loads(commit.userMetadata)[AUDIT]
        if record["number"] > recorded:
            metrics = commit.operationMetrics
            changed = metrics.get("numTargetRowsUpdated") or metrics.get("numUpdatedRows")
            record |= {"messages": int(changed), "bronze_version": commit.version}
            _append_operation(spark, record, (AUDIT, record["number"]))
            completed.append(record)
    return completed


def _append_operation(
    spark: SparkSession, record: dict[str, Any], transaction: tuple[str, int]
) -> None:
    row = record | {
        "began_at": datetime.fromtimestamp(0, UTC) + timedelta(microseconds=record["began_at"]),
        "selection": json.dumps(record["selection"], ensure_ascii=False),
    }
    tables.append_once(spark, OPERATIONS, [row], transaction)


def performer() -> str:
    """Return who runs this process, as bronze.operations names it: user@host."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"
