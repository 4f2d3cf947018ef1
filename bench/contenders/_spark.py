"""What the contenders on Spark share: the session, the queries that read messages, the MERGE.

The queries are files of the dbt project beside this one. They parse what the table needs and
nothing else, as people do who write such a job for one table.
"""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from bench.contenders._dts_avro import register_decoder
from bench.topics import COLUMNS
from cdc_lakehouse.runtime.jars import installed_jars

DBT_PROJECT = Path(__file__).with_name("dbt_spark_project")
MESSAGES = "topic string, partition int, offset bigint, timestamp timestamp, value binary"
LATEST = """
select * from ({changes})
qualify row_number() over (partition by id order by _sequence desc) = 1
"""
MERGE = """
merge into delta.`{table}` as item
using latest as change
on item.id = change.id
when matched and change._sequence > item._sequence and change._deleted then delete
when matched and change._sequence > item._sequence then update set *
when not matched and not change._deleted then insert *
"""


def open_session(work: Path, memory: str) -> SparkSession:
    """Start Spark with Delta, tuned for small jobs on one machine as guides to it say.

    C1 and the serial collector are what this project gives its own Spark.
    """
    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.jars": ",".join(str(jar) for jar in installed_jars()),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(work / "tmp"),
        "spark.sql.warehouse.dir": str(work / "warehouse"),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
        # Python functions over a Parquet scan hang without this (SPARK-58241).
        "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.databricks.delta.properties.defaults.enableDeletionVectors": "true",
    }
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


class SparkContender:
    """A Delta table of orders, and the session that keeps it."""

    def __init__(self, work: Path, format: str, memory: str) -> None:
        self.work, self.table = work, work / "orders"
        self.spark = open_session(work, memory)
        if format == "dts_avro":
            register_decoder(self.spark)
        self.changes = (DBT_PROJECT / "models" / "changes" / f"{format}.sql").read_text()

    def apply(self, messages: DataFrame) -> None:
        """Bring the table up to date with the last change of each order in the messages."""
        messages.createOrReplaceTempView("messages")
        latest = messages.sparkSession.sql(LATEST.format(changes=self.changes))
        if not self.table.exists():  # a load: there is nothing to merge with
            latest.where("not _deleted").write.format("delta").save(str(self.table))
            return
        latest.createOrReplaceTempView("latest")
        messages.sparkSession.sql(MERGE.format(table=self.table))

    def current(self) -> DataFrame:
        """Return the table as readers see it."""
        return self.spark.read.format("delta").load(str(self.table))

    def write_result(self, path: Path) -> None:
        texts = [f"cast({name} as string) as {name}" for name in COLUMNS]
        self.current().selectExpr(*texts).write.parquet(str(path))

    def close(self) -> None:
        self.spark.stop()
