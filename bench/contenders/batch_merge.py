"""A batch job on Spark that someone wrote for the table: read the new files, MERGE into Delta.

Each run reads the folder that has arrived since the last one, which a scheduler hands to it,
takes the last change of each key and merges it: updates and deletes if they are newer than the
row. Deleted rows leave no tombstones, and what cannot be read is not kept.
"""

from pathlib import Path

from bench.contender import run
from bench.contenders._spark import SparkContender


class BatchMerge(SparkContender):
    """A job that is run once for each folder."""

    def step(self, folder: Path) -> dict[str, float]:
        if any(folder.glob("*.parquet")):
            self.apply(self.spark.read.parquet(str(folder)))
        return {}


if __name__ == "__main__":
    run(BatchMerge)
