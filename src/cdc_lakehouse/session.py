"""The Spark session of the embedded default, the same for dbt, for ingest and for the tests."""

import fcntl
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pyspark.sql import SparkSession

from cdc_lakehouse.errors import LakehouseError, short_message
from cdc_lakehouse.jars import installed_jars
from cdc_lakehouse.java import find_java

LOG4J = Path(__file__).with_name("log4j2.properties")


def lakehouse_dir() -> Path:
    """Return the folder of all state: LAKEHOUSE_DIR, or .lakehouse in the working directory."""
    return Path(os.environ.get("LAKEHOUSE_DIR") or ".lakehouse").absolute()


def warehouse_path(schema: str, table: str) -> Path:
    """Return where the Delta table `schema.table` lives."""
    return lakehouse_dir() / "warehouse" / f"{schema}.db" / table


def settings(metastore: bool) -> dict[str, str]:
    """Return the Spark settings of the embedded default.

    Args:
        metastore: whether tables have names (dbt), or are read and written by their paths (ingest).
    """
    home = lakehouse_dir()
    cores = os.environ.get("LAKEHOUSE_CORES") or str(os.cpu_count())
    java_options = [
        # A small run is spent compiling plans: these two halve it.
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m",
        f"-Dlog4j2.configurationFile={LOG4J.as_uri()}",
        f'"-Dderby.system.home={home}" "-Dderby.stream.error.file={home / "derby.log"}"',
    ]
    values = {
        "spark.master": f"local[{cores}]",
        "spark.app.name": "cdc_lakehouse",
        "spark.jars": ",".join(str(jar) for jar in installed_jars()),
        "spark.driver.memory": os.environ.get("LAKEHOUSE_MEMORY") or "2g",
        "spark.driver.extraJavaOptions": " ".join(java_options),
        # Nothing outside this machine is meant to reach the embedded session.
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(home / "tmp"),
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.shuffle.partitions": cores,
        "spark.sql.parquet.compression.codec": "zstd",
        # Python functions over a Parquet scan hang without this (SPARK-58241).
        "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
        # Delta replays its log in 50 tasks by default; listing a tiny folder takes as many.
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": cores,
    }
    if metastore:
        database = f"jdbc:derby:;databaseName={home / 'metastore_db'};create=true"
        values["spark.sql.catalogImplementation"] = "hive"
        values["spark.hadoop.javax.jdo.option.ConnectionURL"] = database
        # The metastore repeats whatever fails, ten times after two seconds each.
        values["spark.hadoop.hive.hmshandler.retry.interval"] = "100ms"
        values["spark.hadoop.hive.hmshandler.retry.attempts"] = "3"
    else:
        values["spark.sql.catalogImplementation"] = "in-memory"
    return values


def open_session(metastore: bool, overrides: Mapping[str, str] | None = None) -> SparkSession:
    """Start Spark, or return the session that this process already runs.

    Args:
        metastore: see `settings`.
        overrides: settings that win over the defaults, for example from profiles.yml.

    Raises:
        LakehouseError: no usable Java, the jars have not been fetched, or Spark does not start.
    """
    find_java()
    home = lakehouse_dir()
    for folder in ("tmp", "warehouse"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    builder = SparkSession.builder
    for name, value in {**settings(metastore), **(overrides or {})}.items():
        builder = builder.config(name, value)
    try:
        with _standard_error_to(home / "spark.log"):
            return builder.getOrCreate()
    except Exception as error:
        message = f"Spark did not start: {short_message(error)}\nMore in {home / 'spark.log'}."
        raise LakehouseError(message) from error


@contextmanager
def _standard_error_to(path: Path) -> Iterator[None]:
    """Let the processes that start meanwhile write their standard error to a file."""
    kept = os.dup(2)
    with open(path, "ab") as log:
        os.dup2(log.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def hold(name: str, remedy: str) -> IO[str]:
    """Take the lock `name` of this lakehouse; the kernel lets go of it when the process ends.

    Args:
        name: what is held, the lock's file name in LAKEHOUSE_DIR/locks.
        remedy: what a person can do about it, part of the error.

    Raises:
        LakehouseError: another process holds it; the text names the process.
    """
    path = lakehouse_dir() / "locks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = open(path, "a+")  # noqa: SIM115 - held open for the life of the process
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        holder = lock.read().strip() or "another process"
        lock.close()
        raise LakehouseError(f"{lakehouse_dir()} is in use by {holder}. {remedy}") from None
    lock.truncate(0)
    lock.write(f"process {os.getpid()} ({' '.join(sys.argv)[:200]})")
    lock.flush()
    return lock
