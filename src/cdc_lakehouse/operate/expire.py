"""Drop messages from bronze by their age; silver and gold keep their results."""

import json
import re
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.bronze.removal import EXPIRY, Removal, interrupted, runs_of
from cdc_lakehouse.bronze.tables import IDENTITY
from cdc_lakehouse.delta.log import is_table
from cdc_lakehouse.engine.change_log import version_read
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.locks import hold_to_commit
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.runtime.session import open_session, stopping
from cdc_lakehouse.sql import quoted
from cdc_lakehouse.storage.files import Location

AGE = r"[0-9]+ (hour|day|week|month|year)s?"


@dataclass
class Expired:
    """How many messages were (or would be) dropped, and how many of them nobody could read."""

    messages: int = 0
    rejected: int = 0
    completed: int = 0  # of an earlier run that was interrupted

    def text(self, older_than: str, dry_run: bool) -> str:
        """Return what a person reads about it."""
        lines = []
        if self.completed:
            lines.append(f"An interrupted run is completed: {self.completed:,} messages dropped.")
        if not self.messages:
            lines.append(f"Nothing to drop: no processed message is older than {older_than}.")
            return "\n".join(lines)
        would = "would be dropped" if dry_run else "dropped from bronze"
        lines.append(f"{self.messages:,} messages older than {older_than} {would}.")
        if self.rejected:
            lines.append(
                f"{self.rejected:,} of them are rejected messages: their bytes are nowhere else, "
                "so no `lakehouse replay` brings them back."
            )
        lines.append("silver and gold keep everything; silver.events can no longer be rebuilt.")
        return "\n".join(lines)


def expire_messages(older_than: str, dry_run: bool = False) -> Expired:
    """Expire messages in a session of its own.

    Raises:
        LakehouseError: see `expire`; or another process rewrites bronze, or Spark failed.
    """
    busy = "Only one can rewrite bronze at a time: wait for it to end."
    with hold_to_commit("bronze", busy):
        again = "Run again when the cause is removed; that completes what was begun."
        with stopping("The expiry", again):
            spark = open_session(metastore=False)
            return expire(spark, older_than, dry_run)


def expire(spark: SparkSession, older_than: str, dry_run: bool = False) -> Expired:
    """Drop the messages of bronze that were ingested longer ago than `older_than`.

    Only what silver has processed goes, and no shard of an OceanBase record that is not whole. The
    caller holds the lock `bronze`; appends and dbt may run meanwhile. Data files stay on disk until
    a VACUUM finds them old enough.

    Args:
        older_than: a number and a unit: `400 days`; hours, days, weeks, months and years.
        dry_run: only count.

    Raises:
        LakehouseError: `older_than` is no such age, or there is no silver yet.
    """
    if not re.fullmatch(AGE, older_than):
        raise LakehouseError(f"{older_than!r} is no age. Give a number and a unit: '400 days'.")
    events = warehouse_path("silver", "events")
    if not is_table(events):
        raise LakehouseError(
            "There is no silver.events yet: nothing is processed. Run `dbt build`."
        )
    bronze.create_tables(spark)
    expired = Expired()
    for removal in [] if dry_run else interrupted(EXPIRY):
        _drop(spark, removal)
        expired.completed += removal.messages
    age = f"current_timestamp() - interval {older_than}"
    before = spark.sql(f"select cast({age} as string)").collect()[0][0]
    processed = _processed_before(spark, events, before)
    (counts,) = processed.agg(F.count("*"), F.count_if("is_rejected")).collect()
    expired.messages, expired.rejected = counts
    if expired.messages and not dry_run:
        selection = json.dumps({"older_than": older_than, "before": before})
        removal = Removal(EXPIRY, selection, runs_of(spark, processed))
        removal.begin()
        _drop(spark, removal)
    return expired


def _drop(spark: SparkSession, removal: Removal) -> None:
    before = json.loads(removal.selection)["before"]
    removal.remove_messages(spark, f"messages.ingested_at < timestamp {quoted(before)}")
    removal.end(spark)


def _processed_before(spark: SparkSession, events: Location, before: str) -> DataFrame:
    """Return the identities all of whose deliveries are old, and read and processed by silver."""
    read = version_read(spark, events)
    read = -1 if read is None else read
    old = (
        bronze.read(spark, bronze.MESSAGES)
        .groupBy(IDENTITY)
        .agg(
            F.max("ingested_at").alias("ingested_at"),
            F.max("_metadata.row_commit_version").alias("version"),
        )
        .where(f"ingested_at < timestamp {quoted(before)} and version <= {read}")
    )
    results = spark.read.format("delta").load(str(events))
    shards = results.where("format = 'oceanbase_avro' and sequence is not null")
    whole = shards.where("kind <> 'control'").select("topic", "sequence")
    waiting = shards.where("kind = 'control'").join(whole, ["topic", "sequence"], "left_anti")
    is_rejected = F.bool_or(F.col("kind") == "rejected").alias("is_rejected")
    processed = results.groupBy(IDENTITY).agg(is_rejected)
    processed = processed.join(waiting.select(IDENTITY), IDENTITY, "left_anti")
    return old.join(processed, IDENTITY)
