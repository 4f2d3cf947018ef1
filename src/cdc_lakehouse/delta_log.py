"""What Delta's log says of a table, without a query."""

from pathlib import Path

from pyspark.sql import SparkSession


def snapshot(spark: SparkSession, path: Path):
    """Return the latest state of the table in a folder, an object of Delta's."""
    nothing = spark._jvm.scala.Option.empty()
    log = spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, str(path))
    return log.update(False, nothing, nothing)


def transaction_version(spark: SparkSession, path: Path, application: str) -> int:
    """Return the newest transaction version of `application` in the table, -1 if there is none."""
    found = snapshot(spark, path).transactions().get(application)
    return found.get() if found.isDefined() else -1
