"""Remove from disk what a Delta table no longer shows: rows, files, change feed and its log."""

import re

from pyspark.sql import SparkSession

from cdc_lakehouse.delta.commit import USER_METADATA, set_for_one_statement
from cdc_lakehouse.delta.feed import FEED, PURGED
from cdc_lakehouse.delta.log import LOG, latest_version, snapshot
from cdc_lakehouse.delta.past import note_again
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.jvm import jvm_of
from cdc_lakehouse.runtime.paths import located
from cdc_lakehouse.storage.files import Location

RETENTION_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
KEPT_FOR = "delta.deletedFileRetentionDuration"
NUMBERED = re.compile(r"\.?([0-9]{20})\.")


def purge(spark: SparkSession, table: str) -> None:
    """Delete from disk all of a Delta table that its latest version does not show.

    Nobody may write the table or read an earlier version of it meanwhile: the caller holds locks.

    Args:
        table: its schema and its name, as SQL takes them.

    Raises:
        LakehouseError: Delta wrote no checkpoint, so that its log cannot be shortened.
    """
    folder = located(spark.sql(f"describe detail {table}").collect()[0].location)
    before = latest_version(spark, folder)
    # Files whose rows are only marked as deleted are written again without them.
    spark.sql(f"reorg table {table} apply (purge)")
    properties = {row.key: row.value for row in spark.sql(f"show tblproperties {table}").collect()}
    # Removed files are remembered in checkpoints, some with their statistics, for so long.
    spark.sql(f"alter table {table} set tblproperties ('{KEPT_FOR}' = 'interval 0 seconds')")
    note = note_again(folder)
    with set_for_one_statement(spark, {RETENTION_CHECK: "false"}):
        spark.sql(f"vacuum {table} retain 0 hours")
    last = _shorten_log(spark, folder)
    if FEED in properties:
        # A consumer that has read all before can go on after these commits, which changed no row.
        spark.sql(f"alter table {table} set tblproperties ('{PURGED}' = '{before} {last}')")
    kept_for = properties.get(KEPT_FOR)
    with set_for_one_statement(spark, {USER_METADATA: note} if note else {}):
        if kept_for in (None, "interval 0 seconds"):
            spark.sql(f"alter table {table} unset tblproperties if exists ('{KEPT_FOR}')")
        else:
            spark.sql(f"alter table {table} set tblproperties ('{KEPT_FOR}' = '{kept_for}')")


def _shorten_log(spark: SparkSession, table: Location) -> int:
    """Write a checkpoint and delete all of the log before it: commits hold statistics of files.

    Returns:
        The number of the latest commit.
    """
    folder = table / LOG
    latest = snapshot(spark, table)
    latest.deltaLog().checkpoint(latest, jvm_of(spark).scala.Option.empty())
    if not list(folder.glob(f"{latest.version():020}.checkpoint*.parquet")):
        raise LakehouseError(
            f"{folder} has no checkpoint of version {latest.version()}, so its earlier commits "
            "cannot be deleted. Run `lakehouse erase` again."
        )
    for path in folder.iterdir():
        number = NUMBERED.match(path.name)
        if number and int(number[1]) < latest.version():
            path.unlink()
    # The log that Java remembers may name files that are gone.
    jvm_of(spark).org.apache.spark.sql.delta.DeltaLog.clearCache()
    version: int = latest.version()
    return version
