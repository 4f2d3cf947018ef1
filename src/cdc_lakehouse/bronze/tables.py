"""The Delta tables of bronze: the messages, the files that brought them, and the audit."""

import getpass
import json
import os
import re
import socket
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameWriter, Row, SparkSession
from pyspark.sql import functions as F

from cdc_lakehouse.delta.log import transaction_version
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.routes import UNROUTED, Routes
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.sql import identifier, quoted

HEADERS = "array<struct<key: string, value: binary>>"
MESSAGES = "messages"
LANDED_FILES = "landed_files"
OPERATIONS = "operations"
OFFSET_GAPS = "offset_gaps"
REMOVED_MESSAGES = "removed_messages"
# The transactions by which the changes of bronze.messages and their audit rows are numbered.
AUDIT = "lakehouse operations"
# How the name of a staged file with a large message begins; the others' are hexadecimal.
LARGE = "large-"
# A watermark is a version of this table; each rebuild of its reader counts from a new multiple.
GENERATION = 2**40

# name, type, comment
MESSAGE_COLUMNS = (
    ("topic", "string", "The Kafka topic, or the name that a landed file gives"),
    ("partition", "int", "The partition of the topic; a landed line file has one of its own"),
    ("offset", "bigint", "The place in the partition; a line file: number of the line, from 0"),
    ("timestamp", "timestamp", "When Kafka took the message; a line file: its modification time"),
    ("timestamp_type", "int", "0 the producer set the timestamp, 1 the broker"),
    ("key", "binary", "The key, byte for byte"),
    ("value", "binary", "The message, byte for byte; null is a tombstone"),
    ("headers", HEADERS, "The headers, in the order sent"),
    ("format", "string", "What seeds/topics.csv says about the topic, or unrouted"),
    ("ingested_at", "timestamp", "When the ingest that landed the message began"),
)
FILE_COLUMNS = (
    ("path", "string", "The absolute path of the file"),
    ("topic", "string", "The topic of a line file; null for Parquet, which may hold many"),
    ("partition", "int", "The partition that a line file takes; null for Parquet"),
    ("size", "bigint", "Bytes of the file"),
    ("modified_at_ns", "bigint", "Modification time, nanoseconds since 1970"),
    ("digest", "string", "BLAKE2b of the file's bytes, hexadecimal"),
    ("messages", "bigint", "Messages in the file"),
    ("batch", "bigint", "The commit it belongs to: the transaction version in bronze.messages"),
    ("landed_at", "timestamp", "When the ingest that landed the file began"),
)
OPERATION_COLUMNS = (
    ("operation", "string", "What was done: reroute, replay, erase or retention"),
    ("began_at", "timestamp", "When it began"),
    ("performed_by", "string", "The user and the host that did it: user@host"),
    ("selection", "string", "Which messages were asked for, as JSON; of a key only its digest"),
    ("messages", "bigint", "How many messages it changed or removed"),
    ("bronze_version", "bigint", "The commit of bronze.messages that did it"),
)
GAP_COLUMNS = (
    ("topic", "string", "The Kafka topic"),
    ("partition", "int", "The partition of the topic"),
    ("first_offset", "bigint", "The first offset that Kafka had deleted before it was read"),
    ("last_offset", "bigint", "The last of them"),
    ("found_at", "timestamp", "When the ingest that found the gap began"),
)
REMOVED_COLUMNS = (
    ("topic", "string", "The topic of the messages"),
    ("partition", "int", "The partition of the messages"),
    ("first_offset", "bigint", "The lowest offset of the run"),
    ("last_offset", "bigint", "The highest offset of the run"),
    ("messages", "bigint", "Messages that were in the run; all were removed"),
    ("reason", "string", "retention or erasure"),
    ("removed_at", "timestamp", "When the removal began"),
    ("bronze_version", "bigint", "The commit of bronze.messages that removed them"),
)
# The change feed and row tracking tell silver what is new; neither can be had for the commits
# before it was switched on.
MESSAGE_CLAUSES = (
    "partitioned by (format) comment 'What the topics delivered, byte for byte' tblproperties "
    "('delta.enableChangeDataFeed' = 'true', 'delta.enableRowTracking' = 'true')"
)
FILE_CLAUSES = "comment 'The files that brought messages; written before their messages are'"
OPERATION_CLAUSES = "comment 'The audit: every operation that changed or removed landed messages'"
GAP_CLAUSES = "comment 'Offsets that Kafka deleted before they were read'"
REMOVED_CLAUSES = "comment 'Messages that bronze no longer holds, in runs of offsets'"
TABLES = {
    MESSAGES: (MESSAGE_COLUMNS, MESSAGE_CLAUSES),
    LANDED_FILES: (FILE_COLUMNS, FILE_CLAUSES),
    OPERATIONS: (OPERATION_COLUMNS, OPERATION_CLAUSES),
    OFFSET_GAPS: (GAP_COLUMNS, GAP_CLAUSES),
    REMOVED_MESSAGES: (REMOVED_COLUMNS, REMOVED_CLAUSES),
}
# What tells how far a topic was read, by the column of the highest offset.
READ_OFFSETS = {MESSAGES: "offset", OFFSET_GAPS: "last_offset", REMOVED_MESSAGES: "last_offset"}


def create_tables(spark: SparkSession) -> None:
    """Create what is missing of bronze, by path; needs no metastore."""
    for name, (columns, clauses) in TABLES.items():
        if _exists(name):
            continue
        listed = ", ".join(f"{col} {kind} comment {quoted(text)}" for col, kind, text in columns)
        try:
            spark.sql(f"create table {by_path(name)} ({listed}) using delta {clauses}")
        except PySparkException:
            # dbt and ingest may both be the first: only one of them makes the first commit.
            if not _exists(name):
                raise


def attach_tables(spark: SparkSession) -> None:
    """Give bronze its names in the session's metastore, creating the tables if they are missing.

    Raises:
        LakehouseError: a metastore that is not of this folder alone names another one.
    """
    create_tables(spark)
    if not all(spark.catalog.tableExists(f"bronze.{name}") for name in TABLES):
        spark.sql("create schema if not exists bronze")
        for name in TABLES:
            location = quoted(str(warehouse_path("bronze", name)))
            spark.sql(f"create table if not exists bronze.{name} using delta location {location}")
    catalog = spark._jsparkSession.sharedState().externalCatalog()
    named = catalog.getTable("bronze", MESSAGES).location().getPath()
    if named != str(_path(MESSAGES)):
        raise LakehouseError(
            f"The metastore has bronze.messages in {named}, but LAKEHOUSE_DIR has it in "
            f"{_path(MESSAGES)}. Only a metastore that lies in LAKEHOUSE_DIR follows it when it is "
            "moved or copied. Set LAKEHOUSE_DIR to the folder that the metastore names, or let the "
            "profile name an empty metastore for this lakehouse alone: the next `dbt build` gives "
            "it the tables that are there. Delete nothing of the warehouse."
        )


def read(spark: SparkSession, name: str) -> DataFrame:
    """Return the bronze table `name`, read by its path."""
    return spark.read.format("delta").load(str(warehouse_path("bronze", name)))


def append_messages(
    spark: SparkSession,
    folder: Path,
    formats: dict[str, str],
    ingested_at: datetime,
    transaction: tuple[str, int],
) -> None:
    """Append what is staged in `folder` to bronze.messages in one commit.

    Args:
        folder: holds Parquet files in the shape of Spark's Kafka source.
        formats: the format of each topic.
        ingested_at: for all the messages.
        transaction: application and version; Delta does nothing if it has committed them before.
    """
    columns = ", ".join(f"{name} {kind}" for name, kind, _ in MESSAGE_COLUMNS[:-2])
    columns = columns.replace("timestamp_type", "timestampType")
    literal = re.sub(r"([\\*?{}\[\]])", r"\\\1", str(folder))  # Spark takes a path for a pattern
    format_map = F.from_json(F.lit(json.dumps(formats)), "map<string,string>")
    reader = spark.read.schema(columns)
    staged = reader.option("pathGlobFilter", "[0-9a-f]*").parquet(literal)
    has_large = any(folder.glob(f"{LARGE}*"))
    # The faster reader holds copies of all that it has read of a row group, and each open writer
    # the largest message that it has compressed.
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", str(not has_large).lower())
    spark.conf.set("spark.sql.parquet.compression.codec", "none" if has_large else "zstd")
    spark.conf.set("parquet.page.size.row.check.max", "1" if has_large else "8")
    if has_large:
        # One after the other: the copies of two large messages at a time would not fit in memory.
        large = reader.option("pathGlobFilter", f"{LARGE}*").parquet(literal).coalesce(1)
        staged = staged.union(large)
    frame = (
        staged.withColumnRenamed("timestampType", "timestamp_type")
        .withColumn("format", F.try_element_at(format_map, F.col("topic")))
        .withColumn("ingested_at", F.timestamp_micros(F.lit(_microseconds(ingested_at))))
    )
    application, version = transaction
    writer = _append(frame, MESSAGES).option("txnAppId", application).option("txnVersion", version)
    writer.save()


def reroute(spark: SparkSession, routes: Routes) -> Counter[tuple[str, str]]:
    """Give the unrouted messages whose topics have a route by now their format, in one commit.

    Only who holds the lock `bronze` may.

    Returns:
        The number of messages by topic and format; where there are none, nothing is committed.
    """
    complete_operations(spark)
    # Each format has a folder of its own: without it, no log of a long history need be read.
    if not (_path(MESSAGES) / f"format={UNROUTED}").exists():
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
    spark: SparkSession, replayed: str, formats: dict[str, str], began_at: datetime, selection: dict
) -> int:
    """Change messages to the format of their topic in one commit, by which dbt settles them anew.

    Only who holds the lock `bronze` may. All copies of an identity are changed.

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
    spark: SparkSession, statement: str, operation: str, began_at: datetime, selection: dict
) -> int:
    """Run a statement that changes rows of bronze.messages in one commit, and record it.

    Only who holds the lock `bronze` may. The commit itself carries what bronze.operations is to
    say of it: where the process dies between the two, the next operation completes the record.

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
    number = committed_version(spark, AUDIT) + 1
    record = {
        "number": number,
        "operation": operation,
        "began_at": _microseconds(began_at),
        "performed_by": performer(),
        "selection": selection,
    }
    delta = "spark.databricks.delta"
    settings = {
        f"{delta}.write.txnAppId": AUDIT,
        f"{delta}.write.txnVersion": str(number),
        # Spark takes ${...} for a variable even there.
        f"{delta}.commitInfo.userMetadata": json.dumps({AUDIT: record}).replace("${", "$\\u007b"),
    }
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        spark.sql(statement)
    finally:
        for name in settings:
            spark.conf.unset(name)
    completed = complete_operations(spark)
    if [row["began_at"] for row in completed] != [record["began_at"]]:
        raise LakehouseError(
            f"The {operation} changed nothing: one that was killed was still at work. Run it again."
        )
    return completed[0]["messages"]


def complete_operations(spark: SparkSession) -> list[dict]:
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


def committed_version(spark: SparkSession, application: str, name: str = MESSAGES) -> int:
    """Return the newest transaction version of `application` in a bronze table, -1 if none."""
    return transaction_version(spark, _path(name), application)


def record_files(spark: SparkSession, rows: list[dict]) -> None:
    """Append rows, each by the names of FILE_COLUMNS, to bronze.landed_files in one commit."""
    schema = ", ".join(f"{name} {kind}" for name, kind, _ in FILE_COLUMNS)
    values = [[row[name] for name, _, _ in FILE_COLUMNS] for row in rows]
    _append(spark.createDataFrame(values, schema).coalesce(1), LANDED_FILES).save()


def landed_files(spark: SparkSession, root: str, after_batch: int) -> dict[str, list[Row]]:
    """Return the rows of bronze.landed_files by path: below `root`, or of later batches."""
    wanted = F.col("path").startswith(root) | (F.col("batch") > after_batch)
    landed: dict[str, list[Row]] = {}
    for row in read(spark, LANDED_FILES).where(wanted).drop("landed_at").toLocalIterator():
        landed.setdefault(row.path, []).append(row)
    return landed


def highest_partitions(spark: SparkSession, topics: set[str]) -> dict[str, int]:
    """Return the highest partition of each topic of which a file has landed."""
    highest: dict[str, int] = {}
    for name in (LANDED_FILES, MESSAGES):  # the second is large: only for what the first lacks
        if unseen := sorted(topics - highest.keys()):
            table = read(spark, name).where(F.col("topic").isin(unseen))
            highest.update(dict(table.groupBy("topic").agg(F.max("partition")).collect()))
    return highest


def record_gaps(
    spark: SparkSession, gaps: list[tuple[str, int, int, int]], found_at: datetime
) -> None:
    """Add gaps (topic, partition, first and last offset) to bronze.offset_gaps, each once."""
    microseconds = int(found_at.timestamp() * 1_000_000)
    rows = ", ".join(
        f"({quoted(topic)}, {partition}, {first}, {last}, timestamp_micros({microseconds}))"
        for topic, partition, first, last in gaps
    )
    columns = ", ".join(name for name, _, _ in GAP_COLUMNS)
    spark.sql(
        f"merge into {by_path(OFFSET_GAPS)} as known "
        f"using (select * from values {rows} as gap({columns})) as gap "
        "on known.topic = gap.topic and known.partition = gap.partition "
        "and known.first_offset = gap.first_offset "
        # Kafka may have deleted more since a run that was killed recorded it.
        "when matched and known.last_offset < gap.last_offset then update set * "
        "when not matched then insert *"
    )


def next_offsets(spark: SparkSession, topics: Iterable[str]) -> dict[tuple[str, int], int]:
    """Return the offset after the highest that bronze knows of each partition of the topics."""
    following: dict[tuple[str, int], int] = {}
    for name, column in READ_OFFSETS.items():
        table = read(spark, name).where(F.col("topic").isin(list(topics)))
        for row in table.groupBy("topic", "partition").agg(F.max(column)).collect():
            topic, partition, highest = row
            following[topic, partition] = max(highest + 1, following.get((topic, partition), 0))
    return following


def forget_files(spark: SparkSession, batch: int, paths: Iterable[str]) -> None:
    """Delete the rows of `paths` from a batch of bronze.landed_files that was never committed."""
    listed = ", ".join(quoted(path) for path in paths)
    if listed:
        spark.sql(
            f"delete from {by_path(LANDED_FILES)} where batch = {batch} and path in ({listed})"
        )


def by_path(name: str) -> str:
    """Return the bronze table `name` as Spark SQL names it without a metastore."""
    return f"delta.{identifier(str(_path(name)))}"


def _append_operation(spark: SparkSession, record: dict, transaction: tuple[str, int]) -> None:
    row = record | {
        "began_at": datetime.fromtimestamp(0, UTC) + timedelta(microseconds=record["began_at"]),
        "selection": json.dumps(record["selection"], ensure_ascii=False),
    }
    append_once(spark, OPERATIONS, [row], transaction)


def performer() -> str:
    """Return who runs this process, as bronze.operations names it: user@host."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def _microseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)


def append_once(
    spark: SparkSession, name: str, rows: list[dict], transaction: tuple[str, int]
) -> None:
    """Append rows, each by the names of its columns, to the bronze table `name` in one commit.

    Args:
        transaction: application and version; Delta does nothing if it has committed them before.
    """
    columns, _ = TABLES[name]
    schema = ", ".join(f"{column} {kind}" for column, kind, _ in columns)
    values = [[row[column] for column, _, _ in columns] for row in rows]
    frame = spark.createDataFrame(values, schema).coalesce(1)
    application, version = transaction
    writer = _append(frame, name).option("txnAppId", application).option("txnVersion", version)
    writer.save()


def _append(frame: DataFrame, name: str) -> DataFrameWriter:
    return frame.write.format("delta").mode("append").option("path", str(_path(name)))


def _path(name: str) -> Path:
    return warehouse_path("bronze", name)


def _exists(name: str) -> bool:
    # A first commit that was killed leaves the folder, but no *.json in it.
    return any((_path(name) / "_delta_log").glob("*.json"))
