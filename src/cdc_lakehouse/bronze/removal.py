"""Remove messages from bronze: a kill loses no step, and every message stays accounted for.

A removal is first written to a file below LAKEHOUSE_DIR/removals, which names no data subject.
Every later step may be done twice. The file is deleted last.
"""

import json
import uuid
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from cdc_lakehouse.bronze import operations
from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.bronze.tables import IDENTITY, by_path
from cdc_lakehouse.delta.commit import USER_METADATA, set_for_one_statement
from cdc_lakehouse.delta.kept import forget
from cdc_lakehouse.runtime.paths import lakehouse_dir
from cdc_lakehouse.sql import quoted
from cdc_lakehouse.storage.files import Location, fitting, write_whole

# As tables and records name them.
ERASURE, EXPIRY = "erasure", "retention"
OPERATIONS = {ERASURE: "erase", EXPIRY: "retention"}
RUN = ["topic", "partition", "first_offset", "last_offset", "messages"]


@dataclass
class Removal:
    """The record of what one command removes.

    `runs` are (topic, partition, first offset, last offset, messages), as `runs_of` finds them;
    `rows` are identities of silver.events. `models` and `tests` are rebuilt without them: name,
    table. `cleaned` are the other tables that lose rows (what `Finder.remove` takes), with `hashes`
    in the place of keys; `left` and `undecided` are those that do not: table, why. `files`
    delivered the messages.
    """

    reason: str
    selection: str
    runs: list[list[Any]]
    rows: list[list[Any]] = field(default_factory=list)
    models: list[list[str]] = field(default_factory=list)
    tests: list[list[str]] = field(default_factory=list)
    cleaned: list[list[Any]] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    left: list[list[str]] = field(default_factory=list)
    undecided: list[list[str]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    began_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat())
    performed_by: str = field(default_factory=operations.performer)
    number: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def messages(self) -> int:
        return sum(run[-1] for run in self.runs)

    def begin(self) -> None:
        """Write the removal down."""
        write_whole(self._path(), json.dumps(asdict(self)))

    def remove_messages(self, spark: SparkSession, condition: str = "true") -> None:
        """Delete the messages in one commit, and list them in bronze.removed_messages.

        Args:
            condition: what also has to hold for a row `messages` of bronze.messages to go.
        """
        if not self.runs:
            return
        version = self._version(spark)
        if version is None:
            self._delete(spark, condition)
            version = self._version(spark)
        began_at = datetime.fromisoformat(self.began_at)
        rows = [
            dict(zip(RUN, run, strict=True))
            | {"reason": self.reason, "removed_at": began_at, "bronze_version": version}
            for run in self.runs
        ]
        transaction = (f"removal {self.number}", 0)
        bronze.append_once(spark, bronze.REMOVED_MESSAGES, rows, transaction)

    def end(self, spark: SparkSession) -> None:
        """Tell the audit what was done, and that nothing is left to do."""
        row = {
            "operation": OPERATIONS[self.reason],
            "began_at": datetime.fromisoformat(self.began_at),
            "performed_by": self.performed_by,
            "selection": self.selection,
            "messages": self.messages,
            "bronze_version": self._listed_version(spark),
        }
        transaction = (f"removal {self.number}", 0)
        bronze.append_once(spark, bronze.OPERATIONS, [row], transaction)
        self._path().unlink()

    def _delete(self, spark: SparkSession, condition: str) -> None:
        columns = "topic string, partition int, first_offset bigint, last_offset bigint"
        spark.createDataFrame([run[:4] for run in self.runs], columns).createOrReplaceTempView(
            "removed_runs"
        )
        topics = ", ".join(sorted({quoted(run[0]) for run in self.runs}))
        forget(spark, f"bronze.{bronze.MESSAGES}")
        with set_for_one_statement(spark, {USER_METADATA: self.number}):
            spark.sql(f"""
                merge into {by_path(bronze.MESSAGES)} as messages
                using removed_runs as runs
                on messages.topic in ({topics})
                    and messages.topic = runs.topic
                    and messages.partition = runs.partition
                    and messages.offset between runs.first_offset and runs.last_offset
                    and {condition}
                when matched then delete
            """)

    def _version(self, spark: SparkSession) -> int | None:
        """Return the commit that removed the messages, None if there was none yet."""
        listed = self._listed_version(spark)
        if listed is not None:
            return listed
        history = spark.sql(f"describe history {by_path(bronze.MESSAGES)} limit 10000")
        own = history.where(F.col("userMetadata") == self.number)
        version: int | None = own.agg(F.max("version")).collect()[0][0]
        return version

    def _listed_version(self, spark: SparkSession) -> int | None:
        removed = bronze.read(spark, bronze.REMOVED_MESSAGES)
        own = F.col("removed_at") == F.lit(datetime.fromisoformat(self.began_at))
        listed = removed.where(own & (F.col("reason") == self.reason))
        version: int | None = listed.agg(F.max("bronze_version")).collect()[0][0]
        return version

    def _path(self) -> Location:
        return _folder() / f"{self.began_at.replace(':', '')}-{self.number}.json"


def interrupted(reason: str) -> list[Removal]:
    """Return the removals that were begun for `reason` and not ended, the oldest first."""
    paths = fitting(_folder(), "*.json")
    found = [Removal(**json.loads(path.read_text())) for path in paths]
    return [removal for removal in found if removal.reason == reason]


def removed_messages(spark: SparkSession) -> Counter[str]:
    """Return how many messages bronze has removed, or is about to remove, by reason."""
    listed = bronze.read(spark, bronze.REMOVED_MESSAGES).groupBy("reason").agg(F.sum("messages"))
    removed = Counter({row[0]: row[1] for row in listed.collect()})
    # Those of a removal that was interrupted are perhaps not listed yet.
    for reason in OPERATIONS:
        removed[reason] += sum(removal.messages for removal in interrupted(reason))
    return removed


def runs_of(spark: SparkSession, identities: DataFrame) -> list[list[Any]]:
    """Return messages as runs: bronze holds no other message between two of the same run.

    Args:
        identities: topic, partition and offset of the messages.
    """
    removed = identities.select(IDENTITY).distinct().withColumn("is_removed", F.lit(True))
    topics = [row.topic for row in removed.select("topic").distinct().collect()]
    held = bronze.read(spark, bronze.MESSAGES).where(F.col("topic").isin(topics))
    held = held.select(IDENTITY).distinct().join(removed, IDENTITY, "left")
    everything = Window.partitionBy("topic", "partition").orderBy("offset")
    alike = Window.partitionBy("topic", "partition", "is_removed").orderBy("offset")
    run = F.row_number().over(everything) - F.row_number().over(alike)
    rows = (
        held.withColumn("run", run)
        .where("is_removed")
        .groupBy("topic", "partition", "run")
        .agg(F.min("offset").alias("first"), F.max("offset").alias("last"), F.count("*").alias("n"))
        .orderBy("topic", "partition", "first")
    )
    return [[r.topic, r.partition, r.first, r.last, r.n] for r in rows.toLocalIterator()]


def rows_frame(spark: SparkSession, rows: Iterable[Row | list[Any]]) -> DataFrame:
    """Return identities of rows of silver.events as a frame."""
    columns = "topic string, partition int, offset bigint, row_number int"
    return spark.createDataFrame([list(row) for row in rows], columns)


def _folder() -> Location:
    return lakehouse_dir() / "removals"
