"""The Delta tables of bronze: the messages, the files that brought them, the audit, schemas."""

from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

from cdc_lakehouse.delta.log import is_table, transaction_version
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.package import BUILT_BY, RELEASE
from cdc_lakehouse.runtime.jvm import external_catalog
from cdc_lakehouse.runtime.locks import hold_bronze
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.sql import identifier, quoted
from cdc_lakehouse.storage.files import Location

# The columns that identify a message, however often it is delivered.
IDENTITY = ["topic", "partition", "offset"]
# The user metadata of a commit that brought only messages to bronze.messages, none of them twice.
EACH_ONCE = "each message of this commit comes once in it"
HEADERS = "array<struct<key: string, value: binary>>"
MESSAGES = "messages"
LANDED_FILES = "landed_files"
OPERATIONS = "operations"
OFFSET_GAPS = "offset_gaps"
REMOVED_MESSAGES = "removed_messages"
AVRO_SCHEMAS = "avro_schemas"

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
    (
        "topic",
        "string",
        "The topic of a line file; of Parquet null, or the names given to its topics",
    ),
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
SCHEMA_COLUMNS = (
    ("registry", "string", "Address of the registry, or folder, as seeds/topics.csv names it"),
    ("id", "bigint", "The id of the schema there, which messages carry"),
    (
        "schema",
        "string",
        "JSON: its text, in a list behind those that it names; of Protobuf its descriptors",
    ),
    ("fetched_at", "timestamp", "When the run that fetched it began to ask"),
)
# The change feed and row tracking tell silver what is new; neither can be had for the commits
# before it was switched on.
MESSAGE_CLAUSES = (
    "partitioned by (format) comment 'What the topics delivered, byte for byte' tblproperties "
    "('delta.enableChangeDataFeed' = 'true', 'delta.enableRowTracking' = 'true',"
    f" '{BUILT_BY}' = '{RELEASE}')"
)
FILE_CLAUSES = "comment 'The files that brought messages; written before their messages are'"
OPERATION_CLAUSES = "comment 'The audit: every operation that changed or removed landed messages'"
GAP_CLAUSES = "comment 'Offsets that Kafka deleted before they were read'"
REMOVED_CLAUSES = "comment 'Messages that bronze no longer holds, in runs of offsets'"
SCHEMA_CLAUSES = "comment 'Schemas of Avro and Protobuf that messages name by an id'"
TABLES = {
    MESSAGES: (MESSAGE_COLUMNS, MESSAGE_CLAUSES),
    LANDED_FILES: (FILE_COLUMNS, FILE_CLAUSES),
    OPERATIONS: (OPERATION_COLUMNS, OPERATION_CLAUSES),
    OFFSET_GAPS: (GAP_COLUMNS, GAP_CLAUSES),
    REMOVED_MESSAGES: (REMOVED_COLUMNS, REMOVED_CLAUSES),
    AVRO_SCHEMAS: (SCHEMA_COLUMNS, SCHEMA_CLAUSES),
}


def create_tables(spark: SparkSession) -> None:
    """Create what is missing of bronze, by path; needs no metastore."""
    for name, (columns, clauses) in TABLES.items():
        if is_table(folder_of(name)):
            continue
        listed = ", ".join(f"{col} {kind} comment {quoted(text)}" for col, kind, text in columns)
        try:
            spark.sql(f"create table {by_path(name)} ({listed}) using delta {clauses}")
        except PySparkException:
            # dbt and ingest may both be the first: only one of them makes the first commit.
            if not is_table(folder_of(name)):
                raise


def attach_tables(spark: SparkSession) -> None:
    """Give bronze its names in the session's metastore, creating the tables if they are missing.

    Raises:
        LakehouseError: a metastore that is not of this folder alone names another one.
    """
    if not all(is_table(folder_of(name)) for name in TABLES):
        with hold_bronze():
            create_tables(spark)
    if not all(spark.catalog.tableExists(f"bronze.{name}") for name in TABLES):
        spark.sql("create schema if not exists bronze")
        for name in TABLES:
            location = quoted(str(folder_of(name)))
            try:
                spark.sql(
                    f"create table if not exists bronze.{name} using delta location {location}"
                )
            except PySparkException:
                # Where the metastore is shared, two may do this at once.
                if not spark.catalog.tableExists(f"bronze.{name}"):
                    raise
    catalog = external_catalog(spark)
    location = catalog.getTable("bronze", MESSAGES).location()
    folder = folder_of(MESSAGES)
    named = location.getPath() if isinstance(folder, Path) else location.toString()
    if named != str(folder):
        raise LakehouseError(
            f"The metastore has bronze.messages in {named}, but LAKEHOUSE_DIR has it in {folder}. "
            "Only a metastore that lies in LAKEHOUSE_DIR follows it when it is "
            "moved or copied. Set LAKEHOUSE_DIR to the folder that the metastore names, or let the "
            "profile name an empty metastore for this lakehouse alone: the next `dbt build` gives "
            "it the tables that are there. Delete nothing of the warehouse."
        )


def read(spark: SparkSession, name: str) -> DataFrame:
    """Return the bronze table `name`, read by its path."""
    return spark.read.format("delta").load(str(folder_of(name)))


def committed_version(spark: SparkSession, application: str, name: str = MESSAGES) -> int:
    """Return the newest transaction version of `application` in a bronze table, -1 if none."""
    return transaction_version(spark, folder_of(name), application)


def by_path(name: str) -> str:
    """Return the bronze table `name` as Spark SQL names it without a metastore."""
    return f"delta.{identifier(str(folder_of(name)))}"


def append_once(
    spark: SparkSession, name: str, rows: list[dict[str, Any]], transaction: tuple[str, int]
) -> None:
    """Append rows, each by the names of its columns, to the bronze table `name` in one commit.

    Args:
        transaction: application and version; Delta does nothing if it has committed them before.
    """
    application, version = transaction
    writer = append_rows(spark, name, rows).option("txnAppId", application)
    writer.option("txnVersion", version).save()


def append_rows(spark: SparkSession, name: str, rows: list[dict[str, Any]]) -> DataFrameWriter:
    """Return what appends rows, each by the names of its columns, to the bronze table `name`."""
    columns, _ = TABLES[name]
    schema = ", ".join(f"{column} {kind}" for column, kind, _ in columns)
    values = [[row[column] for column, _, _ in columns] for row in rows]
    return append(spark.createDataFrame(values, schema).coalesce(1), name)


def append(frame: DataFrame, name: str) -> DataFrameWriter:
    """Return what appends `frame` to the bronze table `name`."""
    return frame.write.format("delta").mode("append").option("path", str(folder_of(name)))


def folder_of(name: str) -> Location:
    """Return the folder of the bronze table `name`."""
    return warehouse_path("bronze", name)


def microseconds(moment: datetime) -> int:
    """Return a time as Spark's timestamp_micros takes it."""
    return int(moment.timestamp() * 1_000_000)
