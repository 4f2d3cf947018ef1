"""Start the Java of Spark's driver, also before Spark starts in it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkConf

from cdc_lakehouse.errors import cannot_write
from cdc_lakehouse.runtime import class_archive, spark_log, standalone
from cdc_lakehouse.runtime.jars import installed_jars
from cdc_lakehouse.runtime.java import find_java, java_locale
from cdc_lakehouse.runtime.java_environment import give_to_hadoop, hidden_from_java
from cdc_lakehouse.runtime.jvm import (
    forget_java,
    gateway_of_process,
    java_context,
    java_of_process,
    running_context,
    start_java,
)
from cdc_lakehouse.runtime.worker_packages import python_of_workers
from cdc_lakehouse.storage.files import make_folder
from cdc_lakehouse.storage.objects import Hadoop

LOG4J = Path(__file__).with_name("log4j2.properties")


def memory() -> str:
    """Return how much heap Spark may take: LAKEHOUSE_MEMORY, or what large messages need."""
    return os.environ.get("LAKEHOUSE_MEMORY") or "4g"


def driver_settings(work: Path, scheme: str = "", is_long: bool = False) -> dict[str, str]:
    """Return the Spark settings of the Java itself, which has to be started with them.

    Args:
        work: the folder of what processes of this machine keep.
        scheme: of the object storage that is used, an empty text if none is.
        is_long: whether there is so much to do that code is worth optimising.
    """
    java_options = [
        # A small run is spent compiling plans: one compiler and the simplest collector halve it.
        # In a long one all cores would wait for the one that collects.
        "-XX:+UseParallelGC" if is_long else "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "-XX:ReservedCodeCacheSize=256m",
        "-XX:+ExitOnOutOfMemoryError -XX:+DisplayVMOutputToStderr",
        class_archive.java_options(),
        f"-Dlog4j2.configurationFile={LOG4J.as_uri()}",
        f'"-Dderby.system.home={work}" "-Dderby.stream.error.file={work / "derby.log"}"',
    ]
    return {
        # On Java's own class path: what is in spark.jars has a loader that Hive closes at the end
        # of a Thrift session, and no place in the archive of classes.
        "spark.driver.extraClassPath": ":".join(map(str, installed_jars(scheme))),
        "spark.driver.memory": memory(),
        "spark.driver.extraJavaOptions": " ".join(java_options),
        **_storage_settings(scheme),
    }


def _storage_settings(scheme: str) -> dict[str, str]:
    """Return the settings of Hadoop's file system for the object storage that is used."""
    if scheme != "s3a":
        return {}
    values = {}
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:  # not Amazon's, so that no name of a bucket is a name of a server
        values["spark.hadoop.fs.s3a.endpoint"] = endpoint
        values["spark.hadoop.fs.s3a.path.style.access"] = "true"
    if region := os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"):
        values["spark.hadoop.fs.s3a.endpoint.region"] = region
    return values


def prepare_java() -> None:
    """Look for a Java that Spark can run on, and name the Python of what it starts.

    Raises:
        LakehouseError: there is no usable Java.
    """
    find_java()
    python = python_of_workers() if standalone.is_cluster(standalone.master()) else sys.executable
    os.environ.setdefault("PYSPARK_PYTHON", python)


def hadoop(work: Path, scheme: str) -> Hadoop:
    """Return the access to files in object storage; start Java if there is none yet.

    The Spark that this process starts later is in the same Java.

    Raises:
        LakehouseError: no usable Java, or the jars of the scheme have not been fetched.
    """
    context, jvm = running_context(), java_of_process()
    if context is not None:
        return Hadoop(jvm, java_context(context).hadoopConfiguration())
    if gateway_of_process() is None:
        prepare_java()
        conf = SparkConf(loadDefaults=False)
        for name, value in driver_settings(work, scheme, is_long=True).items():
            conf.set(name, value)
        log = make_folder(work) / "spark.log"
        with standard_error_to(log), java_locale(), hidden_from_java():
            start_java(conf)
    jvm = java_of_process()
    assert jvm is not None  # it has just been started
    spark = jvm.org.apache.spark
    configuration = spark.deploy.SparkHadoopUtil.get().newConfiguration(spark.SparkConf())
    give_to_hadoop(configuration)
    return Hadoop(jvm, configuration)


def end_java() -> None:
    """End the Java that was started to ask object storage, unless Spark has started in it."""
    gateway = gateway_of_process()
    if gateway is None or running_context() is not None:
        return
    gateway.shutdown()
    gateway.proc.stdin.close()  # it ends with it
    forget_java()


@contextmanager
def standard_error_to(path: Path) -> Iterator[None]:
    """Let the processes that start meanwhile write their standard error to a file, kept short."""
    try:
        log = open(path, "ab")  # noqa: SIM115 - closed below
    except OSError as error:
        raise cannot_write(path, error) from None
    spark_log.keep_short(path)
    kept = os.dup(2)
    with log:
        os.dup2(log.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
