"""A stream on Spark that someone wrote for the table: foreachBatch with a MERGE into Delta.

The stream is started for each step, takes all files that it has not seen as one micro-batch
(`availableNow`) and ends. Its function takes the last change of each key and merges it: updates
and deletes if they are newer than the row. Deleted rows leave no tombstones, and what cannot be
read is not kept.
"""

from pathlib import Path

from bench.contender import run
from bench.contenders._spark import MESSAGES, SparkContender


class ForeachBatch(SparkContender):
    """A stream with a checkpoint, and the folder it watches."""

    def __init__(self, work: Path, format: str, memory: str) -> None:
        super().__init__(work, format, memory)
        self.landing = work / "landing"
        self.landing.mkdir()

    def step(self, folder: Path) -> dict[str, float]:
        arrived = len(list(self.landing.iterdir()))
        (self.landing / str(arrived)).symlink_to(folder)
        messages = self.spark.readStream.schema(MESSAGES).parquet(f"{self.landing}/*")
        stream = messages.writeStream.foreachBatch(lambda batch, _: self.apply(batch))
        stream = stream.option("checkpointLocation", str(self.work / "checkpoint"))
        stream.trigger(availableNow=True).start().awaitTermination()
        return {}


if __name__ == "__main__":
    run(ForeachBatch)
