"""Bare limits: what this machine does with the same messages if only one thing is asked of it.

Each is run once before, uncounted: a step that is warm has done all of it before, too.
"""

import argparse
import json
import os
import shutil
import statistics
import time
from collections.abc import Callable
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
from fastavro import parse_schema, schemaless_reader
from pyspark.sql import DataFrame, SparkSession

from bench.topics import FORMATS

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
BATCH = 2_000


def measure(
    work: Path, format: str, memory: str, messages: Path, repeats: int
) -> dict[str, dict[str, float]]:
    """Return seconds and messages and MB (10^6 bytes of values) per second of each limit.

    Args:
        work: an empty folder, for what is written.
        format: one of FORMATS.
        memory: the heap of Spark, as Java has it.
        messages: a folder of Parquet files in the shape of Spark's Kafka source.
        repeats: how often each is measured; the median counts.
    """
    files = sorted(messages.glob("*.parquet"))
    values = [pq.read_table(file, columns=["value"])["value"] for file in files]
    count, size = sum(map(len, values)), sum(pc.sum(pc.binary_length(v)).as_py() for v in values)
    del values
    seconds = {}
    spark = open_spark(work, memory)
    for name, limit in spark_limits(spark, work, format, files).items():
        seconds[name] = _median(limit, repeats)
    spark.stop()
    if format == "dts_avro":
        with get_context("spawn").Pool() as pool:
            seconds["fastavro"] = _median(lambda: pool.map(decode_file, files, 1), repeats)
    return {
        name: {
            "seconds": round(took, 3),
            "messages_per_second": round(count / took),
            "mb_per_second": round(size / took / 1e6, 1),
        }
        for name, took in seconds.items()
    }


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
        envelope = f"from_json(cast(value as string), '{ENVELOPES[format]}')"
        parsed = read().selectExpr("topic", "partition", "offset", f"{envelope} as message")
        parsed.write.option("compression", "zstd").mode("overwrite").parquet(str(work / "json"))

    limits = {"read": only_read, "Delta write": write_delta}
    return limits | ({"from_json": parse_json} if format in ENVELOPES else {})


def decode_file(file: Path) -> None:
    """Decode all messages of a file, and throw the records away."""
    if not _schema:
        types, named = json.loads(SCHEMA.read_text()), {}
        _schema.append([parse_schema(type, named_schemas=named, expand=True) for type in types][-1])
    for batch in pq.ParquetFile(file).iter_batches(BATCH, columns=["value"]):
        for value in batch["value"].to_pylist():
            schemaless_reader(BytesIO(value), _schema[0], None)


_schema: list = []  # of this process, once it has decoded something


def _median(limit: Callable[[], object], repeats: int) -> float:
    limit()
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        limit()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


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
