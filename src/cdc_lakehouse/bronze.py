"""The Delta tables of bronze: the messages, and the files that brought them."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameWriter, Row, SparkSession
from pyspark.sql import functions as F

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.routes import UNROUTED, Routes
from cdc_lakehouse.session import warehouse_path

HEADERS = "array<struct<key: string, value: binary>>"
MESSAGES = "messages"
LANDED_FILES = "landed_files"

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
# The change feed and row tracking tell silver what is new; neither can be had for the commits
# before it was switched on.
MESSAGE_CLAUSES = (
    "partitioned by (format) comment 'What the topics delivered, byte for byte' tblproperties "
    "('delta.enableChangeDataFeed' = 'true', 'delta.enableRowTracking' = 'true')"
)
FILE_CLAUSES = "comment 'The files that brought messages; written before their messages are'"
TABLES = {MESSAGES: (MESSAGE_COLUMNS, MESSAGE_CLAUSES), LANDED_FILES: (FILE_COLUMNS, FILE_CLAUSES)}


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
        LakehouseError: the metastore speaks of another folder: the lakehouse was moved or copied.
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
            f"{_path(MESSAGES)} is called bronze.messages in {named}: the metastore of a lakehouse "
            "that was moved or copied still names the old folder. Move it back, or start a new "
            "one: keep warehouse/bronze.db, delete the rest and run `dbt build`."
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
    microseconds = int(ingested_at.timestamp() * 1_000_000)
    frame = (
        spark.read.schema(columns)
        .parquet(literal)
        .withColumnRenamed("timestampType", "timestamp_type")
        .withColumn("format", F.try_element_at(format_map, F.col("topic")))
        .withColumn("ingested_at", F.timestamp_micros(F.lit(microseconds)))
    )
    application, version = transaction
    writer = _append(frame, MESSAGES).option("txnAppId", application).option("txnVersion", version)
    writer.save()


def reroute(spark: SparkSession, routes: Routes) -> Counter[tuple[str, str]]:
    """Give the unrouted messages whose topics have a route by now their format, in one commit.

    Returns:
        The number of messages by topic and format; where there are none, nothing is committed.
    """
    unrouted = read(spark, MESSAGES).where(F.col("format") == UNROUTED).groupBy("topic").count()
    found = Counter(
        {(topic, routes.format_of(topic)): count for topic, count in unrouted.collect()}
    )
    found = Counter({key: count for key, count in found.items() if key[1] != UNROUTED})
    if found:
        topics = ", ".join(quoted(topic) for topic, _ in found)
        formats = ", ".join(f"{quoted(topic)}, {quoted(name)}" for topic, name in found)
        spark.sql(
            f"update {by_path(MESSAGES)} set format = map({formats})[topic] "
            f"where format = {quoted(UNROUTED)} and topic in ({topics})"
        )
    return found


def committed_version(spark: SparkSession, application: str) -> int:
    """Return the newest transaction version of `application` in bronze.messages, -1 if none."""
    jvm = spark._jvm
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(
        spark._jsparkSession, str(_path(MESSAGES))
    )
    none = getattr(getattr(jvm, "scala.Option$"), "MODULE$").empty()
    found = log.update(False, none, none).transactions().get(application)
    return found.get() if found.isDefined() else -1


def record_files(spark: SparkSession, rows: list[dict]) -> None:
    """Append rows, each by the names of FILE_COLUMNS, to bronze.landed_files in one commit."""
    schema = ", ".join(f"{name} {kind}" for name, kind, _ in FILE_COLUMNS)
    values = [[row[name] for name, _, _ in FILE_COLUMNS] for row in rows]
    _append(spark.createDataFrame(values, schema).coalesce(1), LANDED_FILES).save()


def landed_below(spark: SparkSession, root: str) -> dict[str, list[Row]]:
    """Return the rows of bronze.landed_files by path, for paths that begin with `root`."""
    table = read(spark, LANDED_FILES).where(F.col("path").startswith(root))
    landed: dict[str, list[Row]] = {}
    for row in table.drop("messages", "landed_at").toLocalIterator():
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


def forget_files(spark: SparkSession, batch: int, paths: Iterable[str]) -> None:
    """Delete the rows of `paths` from a batch of bronze.landed_files that was never committed."""
    listed = ", ".join(quoted(path) for path in paths)
    if listed:
        spark.sql(
            f"delete from {by_path(LANDED_FILES)} where batch = {batch} and path in ({listed})"
        )


def quoted(text: str) -> str:
    """Return `text` as a string literal of Spark SQL.

    Spark takes `${...}` for a variable even there, so no `{` stands in it as such.
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("{", "\\u007b") + "'"


def by_path(name: str) -> str:
    """Return the bronze table `name` as Spark SQL names it without a metastore."""
    return "delta.`" + str(_path(name)).replace("`", "``") + "`"


def _append(frame: DataFrame, name: str) -> DataFrameWriter:
    return frame.write.format("delta").mode("append").option("path", str(_path(name)))


def _path(name: str) -> Path:
    return warehouse_path("bronze", name)


def _exists(name: str) -> bool:
    # A first commit that was killed leaves the folder, but no *.json in it.
    return any((_path(name) / "_delta_log").glob("*.json"))
