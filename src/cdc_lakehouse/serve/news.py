"""Tell whether the source of `lakehouse serve` has something new, without a run."""

import os
import time
from collections.abc import Callable, Hashable
from contextlib import suppress

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cdc_lakehouse.bronze.tables import MESSAGES, folder_of
from cdc_lakehouse.delta.log import latest_version
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.ingest.delivered import find_files
from cdc_lakehouse.ingest.kafka.cluster import Cluster
from cdc_lakehouse.ingest.kafka.options import Request, source_options

Look = Callable[[SparkSession], Hashable]
# A look is followed by a pause of so many times its length, and of a second at least.
PAUSE = 10


def look_at_files(path: str) -> Look:
    """Return what gives the files below a path, with their sizes and times."""

    def look(spark: SparkSession) -> Hashable:
        found = set()
        for name in find_files(path, lambda path, error: None):
            with suppress(OSError):  # the run names it
                status = os.stat(name)
                found.add((name, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
        return frozenset(found)

    return look


def look_at_kafka(request: Request) -> Look:
    """Return what gives the ends of the partitions that are read."""

    def look(spark: SparkSession) -> Hashable:
        with Cluster(spark, source_options(spark, request)) as cluster:
            _, ends = cluster.extent(cluster.partitions(request))
        return frozenset(ends.items())

    return look


def look_at_bronze(spark: SparkSession) -> Hashable:
    """Return the latest commit of bronze.messages: another process lands."""
    return latest_version(spark, folder_of(MESSAGES))


class News:
    """Remembers the state of the source, to tell whether it has changed."""

    def __init__(self, spark: SparkSession, look: Look) -> None:
        self._spark, self._look = spark, look
        self._known: Hashable = None
        self._next = time.monotonic()

    def have_come(self) -> bool:
        """Look at the source, unless that was a moment ago, and tell whether it has changed.

        A source that cannot be asked has not: the next run on the schedule says why.
        """
        began, known = time.monotonic(), self._known
        if began < self._next:
            return False
        with suppress(LakehouseError, OSError, PySparkException, Py4JError):
            self._known = self._look(self._spark)
        ended = time.monotonic()
        self._next = ended + max(1, PAUSE * (ended - began))
        return self._known != known
