"""Let one ingest of files work at a time: its lock, its Spark, and a folder to stage files in."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.delta.log import bytes_since
from cdc_lakehouse.runtime.locks import hold_to_commit
from cdc_lakehouse.runtime.paths import lakehouse_dir, warehouse_path, work_dir
from cdc_lakehouse.runtime.session import MANY_BYTES, compile_plans, open_session, stopping
from cdc_lakehouse.runtime.standalone import is_cluster
from cdc_lakehouse.runtime.timings import Recorder
from cdc_lakehouse.storage.files import Location, make_folder, remove_tree
from cdc_lakehouse.storage.objects import ObjectPath


@contextmanager
def writing(timings: Recorder) -> Iterator[tuple[SparkSession, Path]]:
    """Yield Spark and a folder to stage files in, to the one ingest of files at work."""
    temporary = make_folder(work_dir() / "tmp")
    busy = "One ingest of files runs at a time: run again when it has ended."
    again = "When the cause is removed, the next run completes what was begun."
    with hold_to_commit("ingest", busy), stopping("The ingest", again):
        for left_over in temporary.glob("ingest-*"):
            shutil.rmtree(left_over)
        with tempfile.TemporaryDirectory(prefix="ingest-", dir=temporary) as staging:
            cheap = {
                # Many small files share a task: opening one is cheap here.
                "spark.sql.files.openCostInBytes": "262144",
                # A file for each format is open, so that nothing has to be sorted by it.
                "spark.sql.maxConcurrentOutputFileWriters": "16",
            }
            with timings.step("ingest", "starts Spark"):
                spark = open_session(metastore=False, overrides=cheap)
                bronze.create_tables(spark)
            landed = bytes_since(warehouse_path("bronze", "messages"), None)
            compile_plans(spark, landed is None or landed > MANY_BYTES)
            yield spark, Path(staging)


@contextmanager
def staged_for_workers(spark: SparkSession, staging: Path) -> Iterator[Location]:
    """Yield where Spark finds what is staged: workers of a cluster see object storage alone."""
    home = lakehouse_dir()
    if not isinstance(home, ObjectPath) or not is_cluster(spark.sparkContext.master or ""):
        yield staging
        return
    folder = home / "tmp" / "ingest"
    remove_tree(folder)  # what a killed run has left
    for file in staging.iterdir():
        (folder / file.name).upload(file)
    yield folder
    remove_tree(folder)
