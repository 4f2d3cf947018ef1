"""Write messages, files and gaps of an ingest to bronze, and read how far bronze is."""

import json
import re
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from cdc_lakehouse.bronze.ledger import note_of_messages, note_of_record
from cdc_lakehouse.bronze.tables import (
    EACH_ONCE,
    FILE_COLUMNS,
    GAP_COLUMNS,
    LANDED_FILES,
    MESSAGE_COLUMNS,
    MESSAGES,
    OFFSET_GAPS,
    REMOVED_MESSAGES,
    append,
    by_path,
    microseconds,
    read,
)
from cdc_lakehouse.sql import quoted
from cdc_lakehouse.storage.files import Location

# How the name of a staged file with a large message begins; the others' are hexadecimal.
LARGE = "large-"
# What tells how far a topic was read, by the column of the highest offset.
READ_OFFSETS = {MESSAGES: "offset", OFFSET_GAPS: "last_offset", REMOVED_MESSAGES: "last_offset"}


def append_messages(
    spark: SparkSession,
    folder: Location,
    formats: dict[str, str],
    ingested_at: datetime,
    transaction: tuple[str, int],
    each_once: bool,
) -> None:
    """Append what is staged in `folder` to bronze.messages in one commit.

    Args:
        folder: holds Parquet files in the shape of Spark's Kafka source.
        formats: the format of each topic.
        ingested_at: for all the messages.
        transaction: application and version; Delta does nothing if it has committed them before.
        each_once: whether no message is there twice; the commit says so.
    """
    format_map = F.from_json(F.lit(json.dumps(formats)), "map<string,string>")
    # Each open writer has the largest message that it has compressed in memory.
    has_large = _has_large(folder)
    spark.conf.set("spark.sql.parquet.compression.codec", "none" if has_large else "zstd")
    spark.conf.set("parquet.page.size.row.check.max", "1" if has_large else "8")
    staged = staged_messages(spark, folder)
    frame = (
        staged.withColumnRenamed("timestampType", "timestamp_type")
        .withColumn("format", F.try_element_at(format_map, F.col("topic")))
        .withColumn("ingested_at", F.timestamp_micros(F.lit(microseconds(ingested_at))))
    )
    append_frame(frame, transaction, each_once)


def append_frame(frame: DataFrame, transaction: tuple[str, int], each_once: bool) -> None:
    """Append rows, which have the columns of bronze.messages, in one commit.

    Args:
        transaction, each_once: as of `append_messages`.
    """
    application, version = transaction
    writer = append(frame, MESSAGES).option("txnAppId", application).option("txnVersion", version)
    said = [EACH_ONCE] if each_once else []
    writer.option("userMetadata", " ".join([*said, note_of_messages(version)])).save()


def staged_messages(spark: SparkSession, folder: Location) -> DataFrame:
    """Return what is staged in `folder`, in the shape of Spark's Kafka source."""
    staged = _staged(spark, folder, "[0-9a-f]*")
    has_large = _has_large(folder)
    # The faster reader holds copies of all that it has read of a row group.
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", str(not has_large).lower())
    if has_large:
        # One after the other: the copies of two large messages at a time would not fit in memory.
        staged = staged.union(_staged(spark, folder, f"{LARGE}*").coalesce(1))
    return staged


def staged_file(spark: SparkSession, folder: Location, name: str) -> DataFrame:
    """Return what is staged in one file of `folder`, as `staged_messages` does of all."""
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
    return _staged(spark, folder, name).coalesce(1)


def _staged(spark: SparkSession, folder: Location, names: str) -> DataFrame:
    columns = ", ".join(f"{name} {kind}" for name, kind, _ in MESSAGE_COLUMNS[:-2])
    columns = columns.replace("timestamp_type", "timestampType")
    literal = re.sub(r"([\\*?{}\[\]])", r"\\\1", str(folder))  # Spark takes a path for a pattern
    return spark.read.schema(columns).option("pathGlobFilter", names).parquet(literal)


def landed_lines(spark: SparkSession, places: Collection[tuple[str, int]]) -> Iterator[Row]:
    """Yield topic, partition, offset and SHA-256 of the lines that landed under some numbers.

    In the order of these columns; a line that has landed more than once comes once, if its bytes
    are the same.
    """
    wanted = spark.createDataFrame(sorted(places), "topic string, partition int")
    topics = sorted({topic for topic, _ in places})
    lines = read(spark, MESSAGES).where(F.col("topic").isin(topics))  # as literals they prune files
    lines = lines.join(F.broadcast(wanted), ["topic", "partition"], "left_semi")
    digest = F.sha2(F.col("value"), 256).alias("digest")
    lines = lines.select("topic", "partition", "offset", digest).distinct()
    yield from lines.orderBy("topic", "partition", "offset").toLocalIterator()


def _has_large(folder: Location) -> bool:
    return any(folder.glob(f"{LARGE}*"))


def record_files(spark: SparkSession, rows: list[dict[str, Any]]) -> None:
    """Append the rows of a batch, each by the names of FILE_COLUMNS, to bronze.landed_files."""
    schema = ", ".join(f"{name} {kind}" for name, kind, _ in FILE_COLUMNS)
    values = [[row[name] for name, _, _ in FILE_COLUMNS] for row in rows]
    writer = append(spark.createDataFrame(values, schema).coalesce(1), LANDED_FILES)
    writer.option("userMetadata", note_of_record(rows[0]["batch"])).save()


def landed_files(
    spark: SparkSession, roots: Iterable[str], after_batch: int
) -> dict[str, list[Row]]:
    """Return the rows of bronze.landed_files by path: below one of `roots`, or of later batches."""
    wanted = F.col("batch") > after_batch
    for root in roots:
        wanted |= F.col("path").startswith(root)
    landed: dict[str, list[Row]] = {}
    for row in read(spark, LANDED_FILES).where(wanted).toLocalIterator():
        landed.setdefault(row.path, []).append(row)
    return landed


def highest_partitions(spark: SparkSession, topics: set[str]) -> dict[str, int]:
    """Return the highest partition of each topic of which a file has landed."""
    highest: dict[str, int] = {}
    for name in (LANDED_FILES, MESSAGES):  # the second is large: only for what the first lacks
        if unseen := sorted(topics - highest.keys()):
            is_wanted = F.col("topic").isin(unseen) & F.col("partition").isNotNull()
            table = read(spark, name).where(is_wanted)
            highest.update(dict(table.groupBy("topic").agg(F.max("partition")).collect()))
    return highest


def forget_files(spark: SparkSession, batch: int, paths: Iterable[str]) -> None:
    """Delete the rows of `paths` from a batch of bronze.landed_files that was never committed."""
    listed = ", ".join(quoted(path) for path in paths)
    if listed:
        spark.sql(
            f"delete from {by_path(LANDED_FILES)} where batch = {batch} and path in ({listed})"
        )


def record_gaps(
    spark: SparkSession, gaps: list[tuple[str, int, int, int]], found_at: datetime
) -> None:
    """Add gaps (topic, partition, first and last offset) to bronze.offset_gaps, each once."""
    moment = f"timestamp_micros({microseconds(found_at)})"
    rows = ", ".join(
        f"({quoted(topic)}, {partition}, {first}, {last}, {moment})"
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


def not_from_files(spark: SparkSession, messages: DataFrame) -> DataFrame:
    """Return those of bronze's messages that no file has brought.

    The messages of files bear the time that bronze.landed_files has of them.
    """
    moments = read(spark, LANDED_FILES).where("messages > 0").select("landed_at").distinct()
    of_file = messages["ingested_at"] == moments["landed_at"]
    return messages.join(F.broadcast(moments), of_file, "left_anti")


def next_offsets(spark: SparkSession, topics: Iterable[str]) -> dict[tuple[str, int], int]:
    """Return the offset after the highest that Kafka has brought of each partition of the topics.

    What a file has brought says nothing of the offsets before it: an archive may lack some.
    """
    following: dict[tuple[str, int], int] = {}
    for name, column in READ_OFFSETS.items():
        table = read(spark, name).where(F.col("topic").isin(list(topics)))
        table = not_from_files(spark, table) if name == MESSAGES else table
        for row in table.groupBy("topic", "partition").agg(F.max(column)).collect():
            topic, partition, highest = row
            following[topic, partition] = max(highest + 1, following.get((topic, partition), 0))
    return following
