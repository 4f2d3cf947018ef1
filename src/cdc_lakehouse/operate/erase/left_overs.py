"""Delete what Spark has written beside the tables."""

import shutil
from pathlib import Path

from pyspark.sql import SparkSession

from cdc_lakehouse.runtime import spark_log
from cdc_lakehouse.runtime.jvm import jvm_of
from cdc_lakehouse.runtime.paths import lakehouse_dir, storage_scheme, work_dir
from cdc_lakehouse.storage.files import remove_tree


def remove_left_overs(spark: SparkSession) -> None:
    """Delete what Spark wrote beside the tables; no query and no other process may be at work.

    These are the folders that killed processes left in LAKEHOUSE_DIR/tmp, the rows that this one
    has shuffled, and what spark.log says: an error or a warning may quote values.
    """
    if storage_scheme():
        remove_tree(lakehouse_dir() / "tmp")
    jvm, folder = jvm_of(spark), work_dir() / "tmp"
    disk = jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager()
    own = [*disk.localDirsString(), jvm.org.apache.spark.SparkFiles.getRootDirectory()]
    own.append(spark.sparkContext._temp_dir)
    kept = {Path(path).relative_to(folder).parts[0] for path in own if folder in Path(path).parents}
    for path in folder.iterdir():
        if path.name not in kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for blocks in disk.localDirsString():
        for path in Path(blocks).glob("*/*"):
            path.unlink()
    spark_log.empty(work_dir() / "spark.log")
