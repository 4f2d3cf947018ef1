"""A Spark standalone cluster in place of the embedded Spark: LAKEHOUSE_MASTER names its master."""

import os
import re
import tempfile
import time
from pathlib import Path

from pyspark import __version__
from pyspark.sql import SparkSession

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.servers import refusals
from cdc_lakehouse.storage.files import write_whole

EMBEDDED = re.compile(r"local(\[([1-9][0-9]*|\*)\])?")
SERVER = r"(\[[0-9A-Fa-f:.]+\]|[^\s,/:\[\]]+):[0-9]{1,5}"
CLUSTER = re.compile(rf"spark://{SERVER}(,{SERVER})*")
# A worker that cannot start an executor tries again at once, for as long as somebody waits.
EXECUTOR_SECONDS = 120


def master() -> str:
    """Return what LAKEHOUSE_MASTER names, an empty text if nothing.

    Raises:
        LakehouseError: it is nothing that this project runs on.
    """
    given = os.environ.get("LAKEHOUSE_MASTER", "").strip()
    if given and not EMBEDDED.fullmatch(given) and not CLUSTER.fullmatch(given):
        raise LakehouseError(
            f"LAKEHOUSE_MASTER={given} is no master to run on. Name a standalone cluster's, "
            "spark://HOST:PORT, or unset it for the embedded Spark."
        )
    return given


def is_cluster(name: str) -> bool:
    """Tell whether a master runs tasks in other processes than the one that asks."""
    return name.startswith("spark://")


def cluster_settings(cores: str | None, memory: str, home: Path) -> dict[str, str]:
    """Return the Spark settings of a cluster alone.

    Args:
        cores: how many all executors together may take; None leaves it to the cluster.
        memory: the heap of each executor.
        home: the folder of the lakehouse.
    """
    options = f'-XX:+ExitOnOutOfMemoryError "-Dlog4j2.configurationFile={_logging(home).as_uri()}"'
    values = {"spark.executor.memory": memory, "spark.executor.extraJavaOptions": options}
    return values | ({"spark.cores.max": cores} if cores else {})


def share_logging(home: Path, properties: Path) -> None:
    """Let executors log what the driver does: by default the filters of a scan, with their values.

    Raises:
        LakehouseError: the lakehouse cannot be written.
    """
    write_whole(_logging(home), properties.read_text())


def _logging(home: Path) -> Path:
    return home / "executors.log4j2.properties"


def check_reachable(name: str) -> None:
    """Raise a LakehouseError if no master of the cluster takes a connection.

    Spark would try again for a minute, and then say that it has been stopped.
    """
    if reasons := refusals(name.removeprefix("spark://").split(",")):
        raise LakehouseError(
            f"LAKEHOUSE_MASTER={name}: no master answers at {', '.join(reasons)}. Start it, "
            "correct the host and port, or unset LAKEHOUSE_MASTER for the embedded Spark."
        )


def refused(name: str, log: Path) -> LakehouseError:
    """Return the error of a cluster whose master answers, but with which Spark does not start."""
    return LakehouseError(
        f"LAKEHOUSE_MASTER={name}: Spark did not start there. What answers has to be a standalone "
        f"master of Spark {__version__} (7077 by default, 8080 is its page), with workers that can "
        f"start an executor. More in {log}."
    )


def check_executors(spark: SparkSession, name: str, memory: str, home: Path) -> None:
    """Wait for an executor, and ask those that are there whether they see the lakehouse.

    Raises:
        LakehouseError: there is none, or one does not see the lakehouse.
    """
    context = spark.sparkContext._jsc.sc()
    deadline = time.monotonic() + EXECUTOR_SECONDS
    while context.getExecutorMemoryStatus().size() < 2:  # the driver is one
        if time.monotonic() > deadline:
            raise LakehouseError(
                f"LAKEHOUSE_MASTER={name}: no worker has started an executor in {EXECUTOR_SECONDS} "
                f"s. It takes a free core and {memory} of memory (LAKEHOUSE_MEMORY): see the "
                "master's page and the workers' logs. LAKEHOUSE_CORES limits what others take."
            )
        time.sleep(0.1)
    _check_shared(spark, name, home)


def _check_shared(spark: SparkSession, name: str, home: Path) -> None:
    """Raise a LakehouseError if an executor cannot read what is written here.

    It would write files of tables elsewhere, without an error, and the driver would commit them.
    """
    tasks = spark.sparkContext.defaultParallelism
    with tempfile.TemporaryDirectory(prefix="seen-", dir=home / "tmp") as folder:
        for number in range(tasks):
            Path(folder, f"{number}.txt").write_text(name)
        # A missing file is an empty one, and no two of them share a task.
        seen = spark.read.option("ignoreMissingFiles", True).text(folder).count()
    if seen < tasks:
        raise LakehouseError(
            f"LAKEHOUSE_MASTER={name}: not every worker can read {home}. Let LAKEHOUSE_DIR name a "
            "folder that this machine and all workers share under one path, and run both as one "
            "user."
        )
