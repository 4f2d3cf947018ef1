"""Requeue messages that have landed: dbt processes them as if they were new."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from cdc_lakehouse.bronze import operations
from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.bronze.tables import IDENTITY
from cdc_lakehouse.delta.log import is_table
from cdc_lakehouse.engine.change_log import version_read
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.routes import Routes, covers, read_routes
from cdc_lakehouse.runtime.locks import hold_to_commit
from cdc_lakehouse.runtime.paths import lakehouse_dir, warehouse_path
from cdc_lakehouse.runtime.progress import showing
from cdc_lakehouse.runtime.session import open_session, stopping

# The codes of silver.events.reject_reason.
REASONS = (
    "duplicate_keys",
    "empty_value",
    "missing_database",
    "missing_ddl",
    "missing_image",
    "missing_table",
    "not_avro",
    "not_json",
    "not_protobuf",
    "not_text",
    "not_utf8",
    "too_large",
    "unknown_charset",
    "unknown_delete_image",
    "unknown_format",
    "unknown_operation",
    "unknown_schema",
    "unknown_time_zone",
    "unrouted_topic",
    "wrong_type",
)
# The reason to give for messages without a result, though silver has read their commits.
NO_RESULT = "no_result"


@dataclass(frozen=True)
class Selection:
    """Which messages a replay takes; a filter that is not given lets all pass.

    Attributes:
        reasons: codes of silver.events.reject_reason, or NO_RESULT.
        topics: names, in which `*` is any run of characters.
        partition: one partition of the topics.
        offsets: the first and the last offset; None is open.
        processed: take accepted messages, too, not only rejected ones.
        all: take every rejected message; excludes all other filters.
    """

    reasons: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    partition: int | None = None
    offsets: tuple[int | None, int | None] | None = None
    processed: bool = False
    all: bool = False

    def check(self) -> None:
        """Refuse what cannot be meant.

        Raises:
            LakehouseError: no filter, filters that exclude each other, an empty range.
        """
        filters = self.given()
        filters.pop("all", None)
        if self.all and filters:
            raise LakehouseError("--all takes every rejected message: leave the filters out.")
        if not self.all and not filters:
            raise LakehouseError(
                "Say which messages: --reason, --topic, --partition or --offsets, "
                "or --all for every rejected one."
            )
        if self.processed and (self.reasons or not self.topics):
            raise LakehouseError(
                "--processed takes accepted messages, which have no --reason: name their --topic. "
                "`dbt build --full-refresh` reprocesses all messages of all topics."
            )
        first, last = self.offsets or (None, None)
        if first is not None and last is not None and first > last:
            raise LakehouseError(f"--offsets {first}-{last} holds no offset: write FROM-TO.")

    def given(self) -> dict[str, Any]:
        """Return the filters that were given, by name."""
        filters = asdict(self).items()
        return {k: v for k, v in filters if v is not None and v is not False and v != ()}

    def noted(self) -> dict[str, Any]:
        """Return the filters as bronze.operations has them, in rows of all releases alike."""
        return {"settled" if name == "processed" else name: v for name, v in self.given().items()}


@dataclass
class Replay:
    """The result of a replay: numbers of messages by topic, result so far and format."""

    replayed: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    in_line: int = 0  # match, but wait for dbt already
    gone: int = 0  # match, but bronze no longer holds them


def reroute(project_dir: str | Path = ".") -> Counter[tuple[str, str]]:
    """Give the unrouted messages of bronze whose topics have a route by now their format.

    Returns:
        The number of messages by topic and format; where there are none, nothing is committed.

    Raises:
        LakehouseError: no readable routes, another command is changing bronze, Spark failed.
    """
    routes = read_routes(Path(project_dir))
    with _changing_bronze("reroute") as spark:
        return operations.reroute(spark, routes)


def replay(selection: Selection, project_dir: str | Path = ".") -> Replay:
    """Requeue the messages that a selection takes, in one commit of bronze.messages.

    Each gets the format that seeds/topics.csv gives its topic now. A message that is requeued
    already, because dbt has not run after its last replay or reroute, is left as it is. dbt may run
    meanwhile: messages that it processes after this command has read silver came with a later
    commit of bronze, so by that same rule they count as requeued.

    Args:
        selection: which messages.
        project_dir: the dbt project, for its seeds/topics.csv.

    Raises:
        LakehouseError: a wrong selection, no readable routes, silver has not been built yet,
            another command is changing bronze, Spark failed.
    """
    selection.check()
    routes = read_routes(Path(project_dir))
    if not is_table(warehouse_path("silver", "events")):
        raise LakehouseError(
            f"{lakehouse_dir()} has no silver.events yet, so no message has a result. "
            "Run `dbt build` first."
        )
    with _changing_bronze("replay") as spark, showing("replays"):
        return _replay(spark, selection, routes)


def _replay(spark: SparkSession, selection: Selection, routes: Routes) -> Replay:
    began_at = datetime.now(UTC)
    operations.complete_operations(spark)
    results = _results(spark, selection).localCheckpoint()
    formats = {
        row.topic: routes.format_of(row.topic)
        for row in results.select("topic").distinct().collect()
    }
    done = Replay()
    if not formats:
        return done
    found = _with_states(spark, results, sorted(formats)).localCheckpoint()
    for row in found.groupBy("topic", "result", "state").count().collect():
        if row.state == "processed":
            done.replayed[row.topic, row.result, formats[row.topic]] = row["count"]
        elif row.state == "in line":
            done.in_line += row["count"]
        else:
            done.gone += row["count"]
    if done.replayed:
        found.where("state = 'processed'").select(IDENTITY).createOrReplaceTempView("replayed")
        operations.put_in_line(spark, "replayed", formats, began_at, selection.noted())
    return done


def _results(spark: SparkSession, selection: Selection) -> DataFrame:
    """Return the selected messages: identity, result, bronze_version.

    They are those of silver.events, and any that silver has read without giving them a result.
    """
    events = spark.read.format("delta").load(str(warehouse_path("silver", "events")))
    rejected = F.col("kind") == "rejected"
    if selection.reasons:
        _check_reasons(selection.reasons, events.where(rejected))
    conditions: list[Column] = [F.col("row_number") == 0]
    of_identity: list[Column] = []
    if not selection.processed:
        conditions.append(rejected)
    if selection.reasons:
        conditions.append(F.col("reject_reason").isin(*selection.reasons))
    if selection.partition is not None:
        of_identity.append(F.col("partition") == selection.partition)
    first, last = selection.offsets or (None, None)
    if first is not None:
        of_identity.append(F.col("offset") >= first)
    if last is not None:
        of_identity.append(F.col("offset") <= last)
    result = F.coalesce("reject_reason", "kind").alias("result")
    known = events
    for condition in [*conditions, *of_identity]:
        events = events.where(condition)
    events = events.select(*IDENTITY, result, "bronze_version")
    if not selection.reasons or NO_RESULT in selection.reasons:
        lost = _without_result(spark, known)
        for condition in of_identity:
            lost = lost.where(condition)
        events = events.union(lost)
    if selection.topics:
        topics = [row.topic for row in events.select("topic").distinct().collect()]
        taken = [t for t in topics if any(covers(name, t) for name in selection.topics)]
        events = events.where(F.col("topic").isin(taken))
    return events


def _without_result(spark: SparkSession, events: DataFrame) -> DataFrame:
    """Return the messages up to silver's checkpoint of which silver.events holds nothing."""
    read = version_read(spark, warehouse_path("silver", "events"))
    landed = F.col("_metadata.row_commit_version").alias("landed")
    messages = bronze.read(spark, bronze.MESSAGES).select(*IDENTITY, landed)
    return (
        messages.groupBy(IDENTITY)
        .agg(F.min("landed").alias("bronze_version"))
        .where(F.col("bronze_version") <= (-1 if read is None else read))
        .join(events, IDENTITY, "left_anti")
        .select(*IDENTITY, F.lit(NO_RESULT).alias("result"), "bronze_version")
    )


def _check_reasons(reasons: tuple[str, ...], rejected: DataFrame) -> None:
    unknown = sorted(set(reasons) - {*REASONS, NO_RESULT})
    if unknown:  # a format of the project's own may have reasons of its own
        found = {row[0] for row in rejected.select("reject_reason").distinct().collect()}
        unknown = sorted(set(unknown) - found)
        if unknown:
            raise LakehouseError(
                f"There is no reason {', '.join(unknown)}. "
                f"The reasons are {', '.join(sorted(found | set(REASONS)))}."
            )


def _with_states(spark: SparkSession, results: DataFrame, topics: list[str]) -> DataFrame:
    """Tell of each result whether its message is gone, requeued already, or processed as it is.

    A message that a replay or a reroute has touched is of a later commit than its result.
    """
    # File statistics decide these.
    ((first, last),) = results.agg(F.min("offset"), F.max("offset")).collect()
    messages = (
        bronze.read(spark, bronze.MESSAGES)
        .where(F.col("topic").isin(topics) & F.col("offset").between(first, last))
        .select(*IDENTITY, F.col("_metadata.row_commit_version").alias("landed"))
    )
    wanted = messages.join(results, IDENTITY, "left_semi")
    landed = wanted.groupBy(IDENTITY).agg(F.min("landed").alias("landed"))
    state = (
        F.when(F.col("landed").isNull(), "gone")
        .when(F.col("landed") > F.col("bronze_version"), "in line")
        .otherwise("processed")
    )
    return results.join(landed, IDENTITY, "left").withColumn("state", state)


@contextmanager
def _changing_bronze(command: str) -> Iterator[SparkSession]:
    """Yield Spark to the one process that may change rows of bronze."""
    busy = "One command changes bronze at a time: run again when it has ended."
    again = "Run it again when the cause is removed."
    with hold_to_commit("bronze", busy), stopping(f"The {command}", again):
        spark = open_session(metastore=False)
        bronze.create_tables(spark)
        yield spark


def parse_offsets(text: str) -> tuple[int | None, int | None]:
    """Read FROM-TO, FROM-, -TO or one offset.

    Raises:
        LakehouseError: it is none of these.
    """
    match = re.fullmatch(r"(\d*)(-?)(\d*)", text, re.ASCII)
    if not match or not (match[1] or match[3]):
        raise LakehouseError(f"--offsets {text} is no range: write FROM-TO, for example 100-250.")
    first, dash, last = match.groups()
    return (int(first) if first else None, int(last) if last else None if dash else int(first))
