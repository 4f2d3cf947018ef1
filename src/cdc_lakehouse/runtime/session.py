"""The Spark session, embedded or of a cluster, the same for dbt, for ingest and for the tests."""

import fcntl
import logging
import os
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cdc_lakehouse.errors import (
    DISK_FULL,
    NOT_WRITABLE,
    LakehouseError,
    cannot_write,
    short_message,
)
from cdc_lakehouse.runtime import class_archive, standalone
from cdc_lakehouse.runtime.jars import installed_jars
from cdc_lakehouse.runtime.java import find_java, java_locale
from cdc_lakehouse.runtime.meaning import PINNED, refuse_other_meanings
from cdc_lakehouse.runtime.metastore import relocate, widen_view_texts
from cdc_lakehouse.runtime.project import project_folder

METASTORE_URL = "spark.hadoop.javax.jdo.option.ConnectionURL"
DERBY = "jdbc:derby:;databaseName="
LOG4J = Path(__file__).with_name("log4j2.properties")
# Up to so much, Spark needs longer to make and compile code of a plan than to interpret it: rows,
# and bytes of table files, in which 4,000 messages seldom take less.
FEW_ROWS = 4_000
FEW_BYTES = 512 << 10
# Up to so much of a stored table, few changes are merged by a plan that is interpreted.
FEW_STORED_BYTES = 8 * FEW_BYTES
# From so many bytes of table files on, Java's second compiler earns what it costs: 50,000 messages.
MANY_BYTES = 8 << 20
# The codes with which Java and Spark's tasks end when there is no memory left.
OUT_OF_MEMORY = (3, 52)


def lakehouse_dir() -> Path:
    """Return the folder of all state: LAKEHOUSE_DIR, which is .lakehouse unless it is set.

    A relative name is relative to the project's folder.
    """
    name = os.environ.get("LAKEHOUSE_DIR") or ".lakehouse"
    return Path(os.path.abspath(project_folder() / name))


def warehouse_path(schema: str, table: str) -> Path:
    """Return where the Delta table `schema.table` lives."""
    return lakehouse_dir() / "warehouse" / f"{schema}.db" / table


def make_folder(path: Path) -> Path:
    """Make a folder of LAKEHOUSE_DIR, unless it is there, and return it.

    Raises:
        LakehouseError: it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from None
    return path


def memory() -> str:
    """Return how much heap Spark may take: LAKEHOUSE_MEMORY, or what large messages need."""
    return os.environ.get("LAKEHOUSE_MEMORY") or "4g"


def settings(metastore: bool, is_long: bool = False) -> dict[str, str]:
    """Return the Spark settings of the embedded default, or of the cluster in LAKEHOUSE_MASTER.

    Args:
        metastore: whether tables have names (dbt), or are read and written by their paths (ingest).
        is_long: whether there is so much to do that code is worth optimising.

    Raises:
        LakehouseError: LAKEHOUSE_MASTER names nothing to run on.
    """
    home, master = lakehouse_dir(), standalone.master()
    cores = os.environ.get("LAKEHOUSE_CORES")
    if not standalone.is_cluster(master):
        cores = cores or str(os.cpu_count())
    java_options = [
        # A small run is spent compiling plans: one compiler and the simplest collector halve it.
        # In a long one all cores would wait for the one that collects.
        "-XX:+UseParallelGC" if is_long else "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "-XX:ReservedCodeCacheSize=256m",
        "-XX:+ExitOnOutOfMemoryError -XX:+DisplayVMOutputToStderr",
        class_archive.java_options(),
        f"-Dlog4j2.configurationFile={LOG4J.as_uri()}",
        f'"-Dderby.system.home={home}" "-Dderby.stream.error.file={home / "derby.log"}"',
    ]
    values = {
        "spark.master": master or f"local[{cores}]",
        "spark.app.name": "cdc_lakehouse",
        "spark.jars": ",".join(str(jar) for jar in installed_jars()),
        "spark.driver.memory": memory(),
        # Of it, what sorts and joins may fill before they go to disk; the rest is for messages.
        "spark.memory.fraction": "0.3",
        "spark.driver.extraJavaOptions": " ".join(java_options),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(home / "tmp"),
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        **PINNED,
        "spark.sql.parquet.compression.codec": "zstd",
        # Of INT96, the default, other readers make nanoseconds, which end in 2262.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # Spark would build the title case of every character there is before the first `lower`.
        "spark.sql.icu.caseMappings.enabled": "false",
        # Java leaves methods of more than 8,000 bytes uncompiled; Spark would write longer ones.
        "spark.sql.codegen.hugeMethodLimit": "8000",
        # Messages compress to a tenth, so that Spark's 128 MB would be too few tasks to go round.
        "spark.sql.files.maxPartitionBytes": str(32 << 20),
        # A row group is in memory as a whole; the writer looks after few rows, however small the
        # first of them, whether it is full.
        "spark.hadoop.parquet.block.size": str(32 << 20),
        "spark.hadoop.parquet.page.size.row.check.min": "1",
        "spark.hadoop.parquet.page.size.row.check.max": "8",
        # A dictionary of messages, and the least and the greatest of them, would be copies of them.
        "spark.hadoop.parquet.enable.dictionary#value": "false",
        "spark.hadoop.parquet.column.statistics.enabled#value": "false",
        # Its default, which Spark would ask the environment for at each element of an array or map.
        "spark.sql.types.framework.enabled": "false",
        # Python functions over a Parquet scan hang without this (SPARK-58241).
        "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
        # Delta replays its log in 50 tasks by default; listing a tiny folder takes as many.
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    if cores:
        values["spark.sql.shuffle.partitions"] = cores
        values["spark.sql.sources.parallelPartitionDiscovery.parallelism"] = cores
    if standalone.is_cluster(master):
        values |= standalone.cluster_settings(cores, memory(), home)
    else:
        # Nothing outside this machine is meant to reach the embedded session.
        values["spark.driver.bindAddress"] = values["spark.driver.host"] = "127.0.0.1"
    if metastore:
        values["spark.sql.catalogImplementation"] = "hive"
        values[METASTORE_URL] = _metastore_url(home)
        # The metastore repeats whatever fails, ten times after two seconds each.
        values["spark.hadoop.hive.hmshandler.retry.interval"] = "100ms"
        values["spark.hadoop.hive.hmshandler.retry.attempts"] = "3"
    else:
        values["spark.sql.catalogImplementation"] = "in-memory"
    return values


def open_session(
    metastore: bool, overrides: Mapping[str, str] | None = None, is_long: bool = False
) -> SparkSession:
    """Start Spark, or return the session that this process already runs.

    Args:
        metastore, is_long: see `settings`.
        overrides: settings that win over the defaults, for example from profiles.yml.

    Raises:
        LakehouseError: a setting that changes what values mean, no usable Java, the jars have not
            been fetched, or Spark does not start.
    """
    home, is_new = lakehouse_dir(), SparkContext._active_spark_context is None
    for folder in ("tmp", "warehouse"):
        make_folder(home / folder)
    if metastore and is_new:
        _refuse_other_java(home / "metastore_db" / "dbex.lck")
    find_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    values = {**settings(metastore, is_long), **(overrides or {})}
    builder, master = SparkSession.builder, values["spark.master"]
    for name, value in values.items():
        builder = builder.config(name, value)
    joins_cluster = is_new and standalone.is_cluster(master)
    if joins_cluster:
        standalone.check_reachable(master)
        standalone.share_logging(home, LOG4J)
    try:
        with _standard_error_to(home / "spark.log"), java_locale():
            spark = builder.getOrCreate()
        configured = dict(spark.sparkContext.getConf().getAll())
        refuse_other_meanings(configured, "The configuration of Spark (spark-defaults.conf)")
        if metastore and is_new and _has_own_metastore(values):
            if values[METASTORE_URL] == _metastore_url(home):
                relocate(spark, values[METASTORE_URL], home)
            widen_view_texts(spark, values[METASTORE_URL])
        if joins_cluster:
            standalone.check_executors(spark, master, memory(), home)
    except Exception as error:
        if is_new and SparkContext._active_spark_context is not None:
            SparkContext._active_spark_context.stop()  # the next call would take it for a sound one
        if isinstance(error, LakehouseError):
            raise
        if joins_cluster:
            raise standalone.refused(master, home / "spark.log") from error
        said = " ".join(short_message(error).splitlines())
        message = f"Spark did not start: {said} More in {home / 'spark.log'}."
        raise LakehouseError(message) from error
    # It would print a stack if Java ended, beside the error of whoever called Java.
    spark.sparkContext._accumulatorServer.handle_error = lambda request, client_address: None
    return spark


def _metastore_url(home: Path) -> str:
    return f"{DERBY}{home / 'metastore_db'};create=true"


def _has_own_metastore(values: Mapping[str, str]) -> bool:
    """Tell whether names are kept in this lakehouse's Derby: a profile may say otherwise."""
    return (
        values["spark.sql.catalogImplementation"] == "hive"
        and values[METASTORE_URL].startswith(DERBY)
        and not any(name.endswith("hive.metastore.uris") for name in values)
    )


def compile_plans(spark: SparkSession, is_worth_it: bool) -> None:
    """Let Spark make Java code of the coming queries of a session, or interpret their plans.

    What is interpreted is not planned anew at each shuffle either: for few rows any plan does.
    """
    spark.conf.set("spark.sql.codegen.wholeStage", str(is_worth_it).lower())
    spark.conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if is_worth_it else "NO_CODEGEN")
    spark.conf.set("spark.sql.adaptive.enabled", str(is_worth_it).lower())


@contextmanager
def stopping(what: str, remedy: str, *errors: type[Exception]) -> Iterator[None]:
    """Let what Spark or the system fails with, or one of `errors`, reach the user in one line.

    Raises:
        LakehouseError: `what` stopped, why, and the `remedy`.
    """
    try:
        yield
    except (PySparkException, Py4JError, OSError, *errors) as error:
        if getattr(error, "errno", None) in DISK_FULL | NOT_WRITABLE:
            raise cannot_write(Path(error.filename or lakehouse_dir()), error) from None
        said = ended_java(error) or " ".join(short_message(error).splitlines()).rstrip(" .")
        raise LakehouseError(f"{what} stopped: {said}. {remedy}") from error


def ended_java(error: BaseException) -> str | None:
    """Return how Java ended, if that is what Python failed with, as a sentence without its end."""
    java = getattr(SparkContext._gateway, "proc", None)
    if java is None or not isinstance(error, (Py4JError, ConnectionError)):
        return None
    with suppress(subprocess.TimeoutExpired):
        java.wait(5 if isinstance(error, (Py4JNetworkError, ConnectionError)) else 0)
    if java.returncode in OUT_OF_MEMORY:
        return (
            f"Spark has used up its {memory()} of memory. Let the environment variable "
            "LAKEHOUSE_MEMORY give it more"
        )
    if java.returncode is not None:
        how = f"signal {-java.returncode}" if java.returncode < 0 else f"code {java.returncode}"
        return f"Spark's Java has ended with {how}; more in {lakehouse_dir() / 'spark.log'}"
    return None


@contextmanager
def _standard_error_to(path: Path) -> Iterator[None]:
    """Let the processes that start meanwhile write their standard error to a file."""
    try:
        log = open(path, "ab")  # noqa: SIM115 - closed below
    except OSError as error:
        raise cannot_write(path, error) from None
    kept = os.dup(2)
    with log:
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
    path = make_folder(lakehouse_dir() / "locks") / name
    try:
        lock = open(path, "a+")  # noqa: SIM115 - held open for the life of the process
    except OSError as error:
        raise cannot_write(path, error) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.truncate(0)
        lock.write(f"process {os.getpid()} ({' '.join(sys.argv)[:200]})")
        lock.flush()
    except BlockingIOError:
        lock.seek(0)
        holder = lock.read().strip() or "another process"
        lock.close()
        raise LakehouseError(f"{lakehouse_dir()} is in use by {holder}. {remedy}") from None
    except OSError as error:
        with suppress(OSError):  # what could not be written is tried again
            lock.close()
        raise cannot_write(path, error) from None
    return lock


def _refuse_other_java(lock: Path, patience: float = 20) -> None:
    """Refuse a metastore that a Java has open though this process holds the lock `metastore`.

    It is that of a killed dbt, which ends by itself within `patience` seconds, or of another
    program. Left to Derby, the refusal takes longer and fills the log with stacks.
    """
    deadline = time.monotonic() + patience
    while (holder := _posix_lock_holder(lock)) is not None:
        command = _command_of(holder)
        is_other = command and str(lakehouse_dir()) not in command  # one that is ending has none
        if is_other or time.monotonic() > deadline:
            raise LakehouseError(
                f"{lock.parent} is in use by process {holder or 'unknown'} ({command[:200]}), "
                "which is no dbt, query or show that runs here. Wait for it to end, or stop it."
            )
        time.sleep(0.1)


def _posix_lock_holder(path: Path) -> int | None:
    """Return the process that holds a POSIX lock on a file, as Derby does; None if none does.

    Where the system does not tell the process it is 0.
    """
    try:
        with open(path, "r+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):
                if sys.platform != "linux":
                    return 0
                layout = "hhqqi4x"  # type, whence, start, length, process
                asked = struct.pack(layout, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
                found = struct.unpack(layout, fcntl.fcntl(file, fcntl.F_GETLK, asked))
                return None if found[0] == fcntl.F_UNLCK else found[4]
    except OSError:
        pass  # there is no metastore yet, or opening it tells what is wrong
    return None


def _command_of(process: int) -> str:
    """Return the command line of a process, empty where the system does not tell it."""
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return ""
    return command.decode(errors="replace").replace("\0", " ").strip()
