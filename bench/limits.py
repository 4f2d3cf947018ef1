"""Bare limits: what this machine does with the same messages if only one thing is asked of it.

Each is run once before, uncounted: a step that is warm has done all of it before, too.
"""

import argparse
import json
import os
import shutil
from collections.abc import Callable
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path

import pyarrow.parquet as pq
from fastavro import parse_schema, schemaless_reader
from pyspark.sql import DataFrame, SparkSession

from bench.contenders.lakehouse import gold_type
from bench.results import times
from bench.topics import COLUMNS, FORMATS

SCHEMA = Path(__file__).parents[1] / "avro" / "dts_avro.avsc"
# The envelopes as this project reads them; all values are texts, so that no digit is lost.
ENVELOPES = {
    "dts_canal": (
        "type string, database string, table string, id string, es string, ts string, gtid string,"
        " isDdl string, sql string, pkNames array<string>, mysqlType map<string, string>,"
        " data array<map<string, string>>, old array<map<string, string>>"
    ),
    "oms_default": (
        "recordType string, allMetaData map<string, string>,"
        " prevStruct map<string, string>, postStruct map<string, string>"
    ),
}
# What a change log has of them: the columns that a change fills, without a check of any.
CHANGES = {
    "dts_canal": (
        "message.type as kind",
        "message.database as database_name",
        "message.table as table_name",
        "message.pkNames as key_columns",
        "message.old[0] as before",
        "message.data[0] as after",
        "message.mysqlType as column_types",
        "timestamp_millis(cast(message.es as bigint)) as committed_at",
        "message.id as sequence",
    ),
    "oms_default": (
        "message.recordType as kind",
        "message.allMetaData as column_types",
        "message.prevStruct as before",
        "message.postStruct as after",
    ),
}
BATCH = 2_000


def measure(
    work: Path, format: str, memory: str, messages: Path, repeats: int
) -> dict[str, list[float]]:
    """Return the seconds of each limit, each time.

    Args:
        work: an empty folder, for what is written.
        format: one of FORMATS.
        memory: the heap of Spark, as Java has it.
        messages: a folder of Parquet files in the shape of Spark's Kafka source.
        repeats: how often each is measured.
    """
    files = sorted(messages.glob("*.parquet"))
    seconds = {}
    spark = open_spark(work, memory)
    for name, limit in spark_limits(spark, work, format, files).items():
        seconds[name] = _times(limit, repeats)
    spark.stop()
    if format == "dts_avro":
        with get_context("spawn").Pool() as pool:
            seconds["fastavro"] = _times(lambda: pool.map(decode_file, files, 1), repeats)
    return seconds


def open_spark(work: Path, memory: str) -> SparkSession:
    """Start Spark with the settings of this project where there is much to do."""
    from cdc_lakehouse.runtime.session import open_session

    os.environ.update(LAKEHOUSE_DIR=str(work), LAKEHOUSE_MEMORY=memory)
    return open_session(metastore=False, is_long=True)


def spark_limits(
    spark: SparkSession, work: Path, format: str, files: list[Path]
) -> dict[str, Callable[[], None]]:
    """Return what Spark is asked for, by name."""

    def read() -> DataFrame:
        return spark.read.parquet(*map(str, files))

    def only_read() -> None:
        read().write.format("noop").mode("overwrite").save()

    def write_delta() -> None:
        shutil.rmtree(work / "delta", ignore_errors=True)
        read().write.format("delta").save(str(work / "delta"))

    def parse_json() -> None:
        shutil.rmtree(work / "parsed", ignore_errors=True)
        envelope = f"from_json(cast(value as string), '{ENVELOPES[format]}')"
        parsed = read().selectExpr("topic", "partition", "offset", f"{envelope} as message")
        parsed.selectExpr("topic", "partition", "offset", *CHANGES[format]).write.format(
            "delta"
        ).save(str(work / "parsed"))

    def latest_rows() -> None:
        shutil.rmtree(work / "latest", ignore_errors=True)
        typed = ", ".join(
            f"try_cast(coalesce(after, before)['{name}'] as {gold_type(kind)}) as {name}"
            for name, kind in COLUMNS.items()
        )
        rows = f"select {typed}, kind, partition, offset from delta.`{work / 'parsed'}`"
        latest = (
            f"select max_by(struct(*), struct(partition, offset)) as row from ({rows}) group by id"
        )
        spark.sql(f"select row.* from ({latest})").write.format("delta").save(str(work / "latest"))

    limits = {"read": only_read, "Delta write": write_delta}
    if format in ENVELOPES:
        limits |= {"from_json": parse_json, "max_by": latest_rows}
    return limits


def decode_file(file: Path) -> None:
    """Decode all messages of a file, and throw the records away."""
    if not _schema:
        types, named = json.loads(SCHEMA.read_text()), {}
        _schema.append([parse_schema(type, named_schemas=named, expand=True) for type in types][-1])
    for batch in pq.ParquetFile(file).iter_batches(BATCH, columns=["value"]):
        for value in batch["value"].to_pylist():
            schemaless_reader(BytesIO(value), _schema[0], None)


_schema: list = []  # of this process, once it has decoded something


def _times(limit: Callable[[], object], repeats: int) -> list[float]:
    limit()
    return times(limit, repeats)


def main() -> None:
    """Print the limits of one format as a line of JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.limits")
    parser.add_argument("messages", type=Path)
    parser.add_argument("--format", required=True, choices=FORMATS)
    parser.add_argument("--work", required=True, type=Path)
    parser.add_argument("--memory", default="4g")
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    found = measure(given.work, given.format, given.memory, given.messages, given.repeat)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
