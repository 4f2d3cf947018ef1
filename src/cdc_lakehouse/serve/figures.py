"""The metrics of a served lakehouse: how far it is, and how its runs end."""

import threading
import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from pyspark.sql import SparkSession

from cdc_lakehouse.bronze.tables import MESSAGES
from cdc_lakehouse.delta.log import (
    count_rows,
    is_table,
    latest_version,
    tables_in,
)
from cdc_lakehouse.report.looking import last_commit_read
from cdc_lakehouse.runtime.paths import schema_path, warehouse_path

# By the exit code of a run.
RESULTS = ("done", "in_part", "failed")
ACCOUNTING = "silver.message_accounting"  # the first run makes it after silver.events
UNPROCESSED = """select topic, count(*) as messages from bronze.messages
    where _metadata.row_commit_version > {mark} group by topic"""
TOPICS = """select topic, sum(messages) as messages, sum(rejected) as rejected,
    sum(missing_offsets) as missing_offsets, max(last_ingested_at) as ingested_at,
    max(last_committed_at) as committed_at
    from {view} group by topic"""
BY_TOPIC = {
    "messages": ("lakehouse_messages", "Messages that came in, each once."),
    "rejected": ("lakehouse_rejected_messages", "Messages that could not be read."),
    "missing_offsets": ("lakehouse_missing_offsets", "Offsets that no message has."),
    "ingested_at": (
        "lakehouse_last_ingested_timestamp_seconds",
        "When the ingest began that landed the latest message.",
    ),
    "committed_at": (
        "lakehouse_last_committed_timestamp_seconds",
        "When the source committed the latest change that is processed.",
    ),
}


def latest_versions(spark: SparkSession) -> dict[str, int]:
    """Return the latest commit of each table that figures and the report are made of."""
    tables = [warehouse_path("bronze", MESSAGES), warehouse_path("silver", "events")]
    tables += tables_in(schema_path("gold_storage"))
    return {str(table): latest_version(spark, table) for table in tables if is_table(table)}


class Figures:
    """Counts runs, and asks the tables for the rest when somebody looks."""

    def __init__(self, spark: SparkSession) -> None:
        self._registry = CollectorRegistry()
        kept = self._registry
        self._runs = Counter("lakehouse_runs", "Runs of ingest and dbt.", ["result"], registry=kept)
        for result in RESULTS:
            self._runs.labels(result)
        self._seconds = Gauge(
            "lakehouse_last_run_seconds", "How long the last run took.", registry=kept
        )
        self._ended = Gauge(
            "lakehouse_last_run_timestamp_seconds", "When the last run ended.", registry=kept
        )
        self._registry.register(_Tables(spark))

    def note_run(self, code: int, seconds: float) -> None:
        """Count a run that ended with an exit code of `lakehouse run`."""
        self._runs.labels(RESULTS[min(code, 2)]).inc()
        self._seconds.set(seconds)
        self._ended.set(time.time())

    def text(self) -> bytes:
        """Return all figures in the text format of Prometheus."""
        return generate_latest(self._registry)


class _Tables(Collector):
    """What the tables say, asked again once they have changed."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark, self._asking = spark.newSession(), threading.Lock()
        self._seen: dict[str, int] | None = None
        self._known: list[GaugeMetricFamily] = []

    def describe(self) -> list[GaugeMetricFamily]:
        return []  # or the registry would collect to learn the names

    def collect(self) -> Iterator[GaugeMetricFamily]:
        with self._asking:
            now = latest_versions(self._spark)
            now[ACCOUNTING] = self._spark.catalog.tableExists(ACCOUNTING)
            if now != self._seen:
                self._known, self._seen = list(self._ask(bool(now[ACCOUNTING]))), now
            yield from self._known

    def _ask(self, is_built: bool) -> Iterator[GaugeMetricFamily]:
        text = "Messages that have landed and are not in silver yet."
        waiting = GaugeMetricFamily("lakehouse_unprocessed_messages", text, labels=["topic"])
        counted = {}
        if is_built:
            found = self._spark.sql(TOPICS.format(view=ACCOUNTING)).collect()
            counted = {row.topic: 0 for row in found}
            for column, (name, about) in BY_TOPIC.items():
                family = GaugeMetricFamily(name, about, labels=["topic"])
                for row in found:
                    if (value := row[column]) is not None:
                        is_time = column.endswith("_at")
                        family.add_metric([row.topic], value.timestamp() if is_time else value)
                yield family
        if is_table(warehouse_path("bronze", MESSAGES)):
            found = self._spark.sql(UNPROCESSED.format(mark=last_commit_read())).collect()
            counted |= {row.topic: row.messages for row in found}
        for topic, messages in counted.items():
            waiting.add_metric([topic], messages)
        yield waiting
        rows = GaugeMetricFamily("lakehouse_rows", "Rows of a table of gold.", labels=["table"])
        for path in tables_in(schema_path("gold_storage")):
            rows.add_metric([path.name], count_rows(self._spark, path))
        yield rows
