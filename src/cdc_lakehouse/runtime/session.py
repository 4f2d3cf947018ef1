"""The Spark session, embedded or of a cluster, the same for dbt, for ingest and for the tests."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cdc_lakehouse.errors import (
    DISK_FULL,
    NOT_WRITABLE,
    LakehouseError,
    cannot_write,
    short_message,
)
from cdc_lakehouse.runtime import served, standalone
from cdc_lakehouse.runtime.driver import memory, prepare_java, standard_error_to
from cdc_lakehouse.runtime.java import java_locale
from cdc_lakehouse.runtime.java_environment import give_to_hadoop, hidden_from_java
from cdc_lakehouse.runtime.jvm import (
    gateway_of_process,
    java_context,
    java_process,
    leave_errors_to_callers,
    running_context,
)
from cdc_lakehouse.runtime.locks import begin_sharing, refuse_other_java
from cdc_lakehouse.runtime.meaning import refuse_other_meanings
from cdc_lakehouse.runtime.metastore import relocate, widen_view_texts
from cdc_lakehouse.runtime.paths import lakehouse_dir, storage_scheme, work_dir
from cdc_lakehouse.runtime.settings import (
    METASTORE_URL,
    has_own_metastore,
    metastore_url,
    settings,
)
from cdc_lakehouse.runtime.shared_metastore import refuse_own_metastore, shared_metastore
from cdc_lakehouse.storage.files import make_folder

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


def open_session(
    metastore: bool, overrides: Mapping[str, str] | None = None, is_long: bool = False
) -> SparkSession:
    """Start Spark, or return the session that this process already runs.

    Args:
        metastore, is_long: see `settings`.
        overrides: settings that win over the defaults, for example from profiles.yml.

    Raises:
        LakehouseError: a setting that changes what values mean, no usable Java, the jars have not
            been fetched, no metastore answers, or Spark does not start.
    """
    work, is_new = work_dir(), running_context() is None
    make_folder(work / "tmp")
    make_folder(lakehouse_dir() / "warehouse")
    shared = shared_metastore()
    if shared:
        begin_sharing(shared)
    if shared and metastore:
        shared.check_reachable()
    elif metastore and is_new:
        refuse_own_metastore()
        refuse_other_java(work / "metastore_db" / "dbex.lck")
    if gateway_of_process() is None:
        prepare_java()
    values = {**settings(metastore, is_long), **(overrides or {})}
    builder, master = SparkSession.builder, values["spark.master"]
    for name, value in values.items():
        builder = builder.config(name, value)
    joins_cluster = is_new and standalone.is_cluster(master)
    if joins_cluster:
        standalone.check_reachable(master)
    try:
        with standard_error_to(work / "spark.log"), java_locale(), hidden_from_java():
            spark = builder.getOrCreate()
        if storage_scheme() == "s3a":
            give_to_hadoop(java_context(spark.sparkContext).hadoopConfiguration())
        configured = dict(spark.sparkContext.getConf().getAll())
        refuse_other_meanings(configured, "The configuration of Spark (spark-defaults.conf)")
        if metastore and is_new and has_own_metastore(values):
            if values[METASTORE_URL] == metastore_url(work) and not storage_scheme():
                relocate(spark, values[METASTORE_URL], work)
            widen_view_texts(spark, values[METASTORE_URL])
        if shared and metastore and is_new:
            shared.prepare(spark)
        if joins_cluster:
            standalone.check_executors(spark, master, memory(), lakehouse_dir())
            standalone.stop_without_executors(spark, master)
    except Exception as error:
        if is_new and (context := running_context()) is not None:
            context.stop()  # the next call would take it for a sound one
        if isinstance(error, LakehouseError):
            raise
        if joins_cluster:
            raise standalone.refused(master, work / "spark.log") from error
        said = " ".join(short_message(error).splitlines())
        message = f"Spark did not start: {said} More in {work / 'spark.log'}."
        raise LakehouseError(message) from error
    leave_errors_to_callers(spark.sparkContext)
    return spark


def compile_plans(spark: SparkSession, is_worth_it: bool) -> None:
    """Let Spark make Java code of the coming queries of a session, or interpret their plans.

    What is interpreted is not planned again at each shuffle either: for few rows any plan does.
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
            path = Path(error.filename) if error.filename else lakehouse_dir()
            raise cannot_write(path, error) from None
        said = ended_java(error) or " ".join(short_message(error).splitlines()).rstrip(" .")
        raise LakehouseError(f"{what} stopped: {said}. {remedy}") from error


@contextmanager
def failing_in_short() -> Iterator[None]:
    """Let an error of Spark reach the user as its message, or as the end of Java.

    Raises:
        LakehouseError: Spark fails in the block.
    """
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise LakehouseError(ended_java(error) or short_message(error)) from None


def ended_java(error: BaseException) -> str | None:
    """Describe how Java ended if that caused `error`; None otherwise. No final full stop."""
    java = java_process()
    if not isinstance(error, (Py4JError, ConnectionError)):
        return None
    if java is None:
        is_gone = gateway_of_process() and isinstance(error, (Py4JNetworkError, ConnectionError))
        return served.ENDED if is_gone else None
    with suppress(subprocess.TimeoutExpired):
        java.wait(5 if isinstance(error, (Py4JNetworkError, ConnectionError)) else 0)
    return gone_java() or None


def gone_java() -> str:
    """Return how the Java of this process ended, without a full stop; nothing if it has not."""
    java = java_process()
    code = None if java is None else java.poll()
    if code is None:
        return ""
    if code in OUT_OF_MEMORY:
        return (
            f"Spark has used up its {memory()} of memory. Let the environment variable "
            "LAKEHOUSE_MEMORY give it more"
        )
    how = f"signal {-code}" if code < 0 else f"code {code}"
    return f"Spark's Java has ended with {how}; more in {work_dir() / 'spark.log'}"


def gone_spark(spark: SparkSession) -> str:
    """Return how Spark ended, without a full stop; nothing if it has not.

    It stops in a Java that goes on where its cluster has given it up.
    """
    if said := gone_java():
        return said
    try:
        is_stopped = java_context(spark.sparkContext).sc().isStopped()
    except (Py4JError, ConnectionError) as error:
        return ended_java(error) or short_message(error)
    if not is_stopped:
        return ""
    return f"Spark has stopped: its cluster has ended it; more in {work_dir() / 'spark.log'}"


def relations_in(spark: SparkSession, schema: str) -> set[str]:
    """Return the names of the tables and views of a schema; none if it is not there."""
    if not spark.catalog.databaseExists(schema):
        return set()
    found = spark.sql(f"show tables in {schema}").collect()
    return {row.tableName for row in found if not row.isTemporary}
