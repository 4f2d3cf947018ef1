"""A cluster in place of the embedded Spark: LAKEHOUSE_MASTER names its master."""

import os
import re
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark import __version__
from pyspark.sql import SparkSession

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.jvm import java_context
from cdc_lakehouse.runtime.servers import refusals
from cdc_lakehouse.runtime.worker_packages import settings_of_archive
from cdc_lakehouse.storage.files import Location, remove_tree, write_whole

EMBEDDED = re.compile(r"local(\[([1-9][0-9]*|\*)\])?")
SERVER = r"(\[[0-9A-Fa-f:.]+\]|[^\s,/:\[\]]+):[0-9]{1,5}"
STANDALONE = re.compile(rf"spark://{SERVER}(,{SERVER})*")
KUBERNETES = re.compile(r"k8s://https?://(\[[0-9A-Fa-f:.]+\]|[^\s,/:\[\]]+)(:[0-9]{1,5})?")
# By default executors would log the filters of a scan, with their values. This resource of Spark's
# jars writes warnings to the standard error; workers have it wherever the lakehouse lies.
LOGGING = "beeline-log4j2.properties"
# A worker that cannot start an executor tries again at once, for as long as somebody waits.
EXECUTOR_SECONDS = 120


def master() -> str:
    """Return what LAKEHOUSE_MASTER names, an empty text if nothing.

    Raises:
        LakehouseError: it is nothing that this project runs on.
    """
    given = os.environ.get("LAKEHOUSE_MASTER", "").strip()
    if given and not any(each.fullmatch(given) for each in (EMBEDDED, STANDALONE, KUBERNETES)):
        raise LakehouseError(
            f"LAKEHOUSE_MASTER={given} is no master to run on. Name a standalone cluster's, "
            "spark://HOST:PORT, or Kubernetes, k8s://https://HOST:PORT, or unset it for the "
            "embedded Spark."
        )
    return given


def is_cluster(name: str) -> bool:
    """Tell whether a master runs tasks in other processes than the one that asks."""
    return name.startswith(("spark://", "k8s://"))


def cluster_settings(name: str, cores: str | None, memory: str) -> dict[str, str]:
    """Return the Spark settings of a cluster alone.

    Args:
        name: its master.
        cores: how many all executors together may take; None leaves it to the cluster.
        memory: the heap of each executor.

    Raises:
        LakehouseError: the packages that were packed for workers are not those that are installed.
    """
    options = f"-XX:+ExitOnOutOfMemoryError -Dlog4j2.configurationFile={LOGGING}"
    values = {
        "spark.executor.memory": memory,
        "spark.executor.extraJavaOptions": options,
        **settings_of_archive(),
    }
    # An executor of Kubernetes has one core, where spark-defaults.conf says nothing else.
    limit = "spark.cores.max" if name.startswith("spark://") else "spark.executor.instances"
    return values | ({limit: cores} if cores else {})


def check_reachable(name: str) -> None:
    """Raise a LakehouseError if no master of the cluster takes a connection.

    Spark would try again for a minute, and then say that it has been stopped.
    """
    if reasons := refusals(_servers(name)):
        raise LakehouseError(
            f"LAKEHOUSE_MASTER={name}: no master answers at {', '.join(reasons)}. Start it, "
            "correct the host and port, or unset LAKEHOUSE_MASTER for the embedded Spark."
        )


def _servers(name: str) -> list[str]:
    found = KUBERNETES.fullmatch(name)
    if not found:
        return name.removeprefix("spark://").split(",")
    default = ":443" if "://https:" in name else ":80"
    return [found[1] + (found[2] or default)]


def refused(name: str, log: Path) -> LakehouseError:
    """Return the error of a cluster whose master answers, but with which Spark does not start."""
    wanted = (
        f"a standalone master of Spark {__version__} (7077 by default, 8080 is its page), with "
        "workers that can start an executor"
    )
    if name.startswith("k8s://"):
        wanted = (
            "Kubernetes, and this process may make pods there: spark.kubernetes.namespace and "
            "spark.kubernetes.container.image stand in spark-defaults.conf"
        )
    return LakehouseError(
        f"LAKEHOUSE_MASTER={name}: Spark did not start there. What answers has to be {wanted}. "
        f"More in {log}."
    )


def check_executors(spark: SparkSession, name: str, memory: str, home: Location) -> None:
    """Wait for an executor, and ask those that are there whether they see the lakehouse.

    Raises:
        LakehouseError: there is none, or one does not see the lakehouse.
    """
    deadline = time.monotonic() + EXECUTOR_SECONDS
    while not _has_executors(spark):
        if time.monotonic() > deadline:
            raise LakehouseError(
                f"LAKEHOUSE_MASTER={name}: no worker has started an executor in {EXECUTOR_SECONDS} "
                f"s. It takes a free core and {memory} of memory (LAKEHOUSE_MEMORY): see the "
                "master's page and the workers' logs. LAKEHOUSE_CORES limits what others take."
            )
        time.sleep(0.1)
    _check_shared(spark, name, home)


def _has_executors(spark: SparkSession) -> bool:
    executors: int = java_context(spark.sparkContext).sc().getExecutorMemoryStatus().size()
    return executors > 1  # the driver is one


def stop_without_executors(spark: SparkSession, name: str) -> None:
    """Stop Spark once it has had no executor for a while, in a thread of its own.

    A master that was started again may not know it any longer: its tasks would wait for ever.
    """

    def watch() -> None:
        seen = time.monotonic()
        with suppress(Py4JError, ConnectionError):  # Java has ended
            while not java_context(spark.sparkContext).sc().isStopped():
                if _has_executors(spark):
                    seen = time.monotonic()
                elif time.monotonic() > seen + EXECUTOR_SECONDS:
                    said = f"no executor has been there for {EXECUTOR_SECONDS} s; Spark stops"
                    print(f"lakehouse: LAKEHOUSE_MASTER={name}: {said}", file=sys.stderr)
                    java_context(spark.sparkContext).stop()
                time.sleep(5)

    threading.Thread(target=watch, daemon=True).start()


def _check_shared(spark: SparkSession, name: str, home: Location) -> None:
    """Raise a LakehouseError if an executor cannot read what is written here.

    It would write files of tables elsewhere, without an error, and the driver would commit them.
    """
    tasks = spark.sparkContext.defaultParallelism
    folder = home / "tmp" / f"seen-{uuid4().hex}"
    try:
        for number in range(tasks):
            write_whole(folder / f"{number}.txt", name)
        # A missing file is an empty one, and no two of them share a task.
        seen = spark.read.option("ignoreMissingFiles", True).text(str(folder)).count()
    finally:
        remove_tree(folder)
    if seen < tasks:
        raise LakehouseError(
            f"LAKEHOUSE_MASTER={name}: not every worker can read {home}. Let LAKEHOUSE_DIR name "
            "object storage, or a folder that this machine and all workers share under one path, "
            "and run both as one user."
        )
