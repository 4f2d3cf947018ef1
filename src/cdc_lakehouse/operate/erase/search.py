"""Find the messages and the rows of silver that belong to data subjects."""

from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from cdc_lakehouse.bronze.removal import rows_frame, runs_of
from cdc_lakehouse.bronze.tables import IDENTITY
from cdc_lakehouse.engine.projection import text_under
from cdc_lakehouse.operate.erase.found import ROW, Found
from cdc_lakehouse.operate.erase.keys import Key, names_a_subject
from cdc_lakehouse.operate.erase.subjects import Subjects

PAIR = ("update_before", "update_after")


def find_messages(spark: SparkSession, subjects: Subjects) -> Found:
    """Return the rows of silver.events and the messages of bronze that are of the subjects.

    The temporary views subjects and removed_rows stay for the look at other tables.
    """
    return _Search(spark, subjects).find()


class _Search:
    def __init__(self, spark: SparkSession, subjects: Subjects):
        self.spark, self.subjects = spark, subjects

    def find(self) -> Found:
        spark, found = self.spark, Found()
        keys = [(list(key),) for key in self.subjects.stored]
        spark.createDataFrame(keys, "key array<string>").createOrReplaceTempView("subjects")
        changes = self.changes()
        rows = [list(change[:4]) for change in changes]
        touched = {key for c in [*changes, *self.pairs_of(changes)] for key in _keys(c)}
        found.other_keys = sorted(touched - self.subjects.stored)
        shards = self.shards_of(changes)
        unread = self.unread()
        rows += [r for r in shards if r not in rows]
        rows += [r[:4] for r in unread if r[4] and r[:4] not in rows]
        found.rows = rows
        identities = {tuple(row[:3]) for row in [*rows, *unread]}
        found.unread = len({tuple(r[:3]) for r in [*shards, *unread]})
        rows_frame(spark, [[*i, 0] for i in identities]).createOrReplaceTempView("subject_messages")
        rows_frame(spark, rows).createOrReplaceTempView("removed_rows")
        if not identities:
            return found
        found.runs = runs_of(spark, spark.table("subject_messages"))
        found.messages = sum(run[-1] for run in found.runs)
        held = spark.table("bronze.messages").join(
            spark.table("subject_messages"), IDENTITY, "left_semi"
        )
        found.deliveries = held.count()
        others = (
            spark.table("silver.events")
            .join(spark.table("subject_messages"), IDENTITY, "left_semi")
            .join(spark.table("removed_rows"), ROW, "left_anti")
        )
        (counts,) = others.agg(F.count_distinct(*IDENTITY), F.count("*")).collect()
        found.neighbours = (counts[0], counts[1])
        delivered = spark.table("bronze.landed_files").join(
            spark.table("subject_messages"), ["topic", "partition"], "left_semi"
        )
        found.files = sorted({row.path for row in delivered.select("path").collect()})
        return found

    def changes(self) -> list[Row]:
        """Return the row changes that have a subject's key before or after."""
        names = self.subjects.names
        new = ", ".join(text_under("after", each) for each in names)
        # A column that `before` lacks has not changed, also one of the key.
        old = ", ".join(
            f"coalesce({text_under('before', each)}, {text_under('after', each)})" for each in names
        )
        self.spark.sql(f"""
            select *, array({new}) as new_key, array({old}) as old_key
            from silver.events
            where kind = 'row_change' and {self.subjects.where}
        """).createOrReplaceTempView("changes_of_table")
        mine = self.spark.sql("""
            select * from changes_of_table
            where new_key in (select key from subjects) or old_key in (select key from subjects)
        """)
        return mine.select(*ROW, "format", "sequence", "operation", "new_key", "old_key").collect()

    def pairs_of(self, changes: list[Row]) -> list[Row]:
        """Return the before/after pairs of these changes, which name the other key."""
        pairs = {(c.format, c.sequence) for c in changes if c.operation in PAIR}
        if not pairs:
            return []
        frame = self.spark.createDataFrame(list(pairs), "format string, sequence string")
        table = self.spark.table("changes_of_table").where(F.col("operation").isin(*PAIR))
        return table.join(frame, ["format", "sequence"], "left_semi").collect()

    def shards_of(self, changes: list[Row]) -> list[list[Any]]:
        """Return the other shards of OceanBase records; of a record one shard has the change."""
        whole = {(c.topic, c.sequence) for c in changes if c.format == "oceanbase_avro"}
        if not whole:
            return []
        frame = self.spark.createDataFrame(list(whole), "topic string, sequence string")
        shards = self.spark.table("silver.events").where(
            "format = 'oceanbase_avro' and kind = 'control'"
        )
        shards = shards.join(frame, ["topic", "sequence"], "left_semi")
        return [list(row) for row in shards.select(ROW).collect()]

    def unread(self) -> list[list[Any]]:
        """Return messages whose bytes name a subject's key and whose rows silver does not know.

        They are rejected ones, tombstones of Kafka, shards that wait for others, and other bytes
        under an identity that is processed; each with whether its row of silver goes with it.
        """
        seen = self.spark.sql(
            "select distinct topic from silver.events "
            f"where kind <> 'rejected' and {self.subjects.where}"
        )
        topics = [row.topic for row in seen.collect()]
        latin = "decode({}, 'ISO-8859-1')"
        text = F.concat_ws(
            "\n",
            F.expr(latin.format("key")),
            F.expr(latin.format("value")),
            F.expr(f"transform(headers, header -> {latin.format('header.value')})"),
        )
        events = self.spark.table("silver.events").where(F.col("topic").isin(topics))
        unread = events.where("kind in ('rejected', 'control')")
        unread = unread.select(*ROW, "kind", "format", "sequence")
        messages = self.spark.table("bronze.messages").where(F.col("topic").isin(topics))
        repeated = messages.groupBy(IDENTITY).count().where("count > 1").select(IDENTITY)
        candidates = unread.select(IDENTITY).union(repeated).distinct()
        named = (
            messages.join(F.broadcast(candidates), IDENTITY)
            .where(names_a_subject(text, self.subjects.keys))
            .select(*IDENTITY, F.col("value").isNull().alias("is_tombstone"))
            .distinct()
        )
        rows = named.join(unread, IDENTITY, "left").collect()
        found = [
            [row.topic, row.partition, row.offset, row.row_number or 0, row.row_number is not None]
            for row in rows
            if row.kind in (None, "rejected") or row.is_tombstone
        ]
        waiting = [r for r in rows if r.format == "oceanbase_avro" and r.sequence is not None]
        return found + [[*row, True] for row in self.shards_of(waiting)]


def _keys(change: Row) -> set[Key]:
    return {tuple(key) for key in (change.new_key, change.old_key) if None not in key}
