"""The settings of Spark, embedded or of a cluster."""

import os
from collections.abc import Mapping
from pathlib import Path

from cdc_lakehouse.runtime import standalone
from cdc_lakehouse.runtime.driver import driver_settings, memory
from cdc_lakehouse.runtime.jars import installed_jars
from cdc_lakehouse.runtime.meaning import PINNED
from cdc_lakehouse.runtime.paths import lakehouse_dir, storage_scheme, work_dir
from cdc_lakehouse.runtime.shared_metastore import shared_metastore

METASTORE_URL = "spark.hadoop.javax.jdo.option.ConnectionURL"
DERBY = "jdbc:derby:;databaseName="


def settings(metastore: bool, is_long: bool = False) -> dict[str, str]:
    """Return the Spark settings of the embedded default, or of the cluster in LAKEHOUSE_MASTER.

    Args:
        metastore: whether tables have names (dbt), or are read and written by their paths (ingest).
        is_long: whether there is so much to do that code is worth optimising.

    Raises:
        LakehouseError: LAKEHOUSE_MASTER names nothing to run on, or LAKEHOUSE_METASTORE nothing
            that keeps tables.
    """
    home, work, scheme = lakehouse_dir(), work_dir(), storage_scheme()
    master = standalone.master()
    cores = os.environ.get("LAKEHOUSE_CORES")
    if not standalone.is_cluster(master):
        cores = cores or str(os.cpu_count())
    values = {
        "spark.master": master or f"local[{cores}]",
        "spark.app.name": "cdc_lakehouse",
        **driver_settings(work, scheme, is_long),
        # The share of memory that sorts and joins may fill before they go to disk; the rest is
        # for messages.
        "spark.memory.fraction": "0.3",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(work / "tmp"),
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        **PINNED,
        "spark.sql.parquet.compression.codec": "zstd",
        # Other readers turn INT96, the default, into nanoseconds, which end in 2262.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # Spark would build the title case of every character there is before the first `lower`.
        "spark.sql.icu.caseMappings.enabled": "false",
        # With Spark's 100, a run of some tables drops classes that the next run compiles again.
        "spark.sql.codegen.cache.maxEntries": "5000",
        # Java leaves methods of more than 8,000 bytes uncompiled; Spark would write longer ones.
        "spark.sql.codegen.hugeMethodLimit": "8000",
        # Messages compress to a tenth, so that Spark's 128 MB would be too few tasks to go round.
        "spark.sql.files.maxPartitionBytes": str(32 << 20),
        # A row group is in memory as a whole; the writer looks after few rows, however small the
        # first of them, whether it is full.
        "spark.hadoop.parquet.block.size": str(32 << 20),
        "spark.hadoop.parquet.page.size.row.check.min": "1",
        "spark.hadoop.parquet.page.size.row.check.max": "8",
        # Spark does not count bytes that Parquet reads in several ranges at once: `lakehouse
        # timings` would show a thousandth. Such reads are not faster on a local disk.
        "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
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
        values |= {"spark.jars": ",".join(map(str, installed_jars(scheme)))}
        values |= standalone.cluster_settings(master, cores, memory())
    else:
        # Nothing outside this machine is meant to reach the embedded session.
        values["spark.driver.bindAddress"] = values["spark.driver.host"] = "127.0.0.1"
    if metastore:
        values["spark.sql.catalogImplementation"] = "hive"
        shared = shared_metastore()
        values |= shared.settings if shared else {METASTORE_URL: metastore_url(work)}
        # The metastore repeats whatever fails, ten times after two seconds each.
        values["spark.hadoop.hive.hmshandler.retry.interval"] = "100ms"
        values["spark.hadoop.hive.hmshandler.retry.attempts"] = "3"
    else:
        values["spark.sql.catalogImplementation"] = "in-memory"
    return values


def metastore_url(work: Path) -> str:
    return f"{DERBY}{work / 'metastore_db'};create=true"


def has_own_metastore(values: Mapping[str, str]) -> bool:
    """Tell whether names are kept in this lakehouse's Derby: a profile may say otherwise."""
    return (
        values["spark.sql.catalogImplementation"] == "hive"
        and values.get(METASTORE_URL, "").startswith(DERBY)
        and not any(name.endswith("hive.metastore.uris") for name in values)
    )
