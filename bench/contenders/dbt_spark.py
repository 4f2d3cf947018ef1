"""Stock dbt-spark: an incremental model with the strategy `merge` and the key as `unique_key`.

Each step shows dbt the new folder as the view `messages` and runs the project of the folder
dbt_spark_project, in this process and on its Spark. The strategy knows no deletes, so the model
marks deleted rows and readers leave them out; nor does it compare positions, so what is delivered
late wins.
"""

from pathlib import Path

from dbt.cli.main import dbtRunner
from pyspark.sql import DataFrame

from bench.contender import run
from bench.contenders._spark import DBT_PROJECT, MESSAGES, SparkContender


class DbtSpark(SparkContender):
    """A dbt project of one table."""

    def __init__(self, work: Path, format: str, memory: str) -> None:
        super().__init__(work, format, memory)
        self.arguments = ["--quiet", "--log-path", str(work / "logs"), "run"]
        self.arguments += ["--project-dir", str(DBT_PROJECT), "--profiles-dir", str(DBT_PROJECT)]
        self.arguments += ["--target-path", str(work / "target"), "--vars", f"format: {format}"]

    def step(self, folder: Path) -> dict[str, float]:
        messages = self.spark.read.schema(MESSAGES).parquet(str(folder))
        messages.createOrReplaceTempView("messages")
        done = dbtRunner().invoke(self.arguments)
        if not done.success:
            raise RuntimeError(done.exception or [each.message for each in done.result])
        return {}

    def current(self) -> DataFrame:
        return self.spark.table("gold.orders").where("not _deleted")


if __name__ == "__main__":
    run(DbtSpark)
