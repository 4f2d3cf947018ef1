"""Land messages from Kafka in bronze: every offset once, and no offset skipped in silence."""

import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from cdc_lakehouse.bronze import deliveries, operations
from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.ingest.kafka.checkpoint import Checkpoint, Position, Unreadable
from cdc_lakehouse.ingest.kafka.cluster import Cluster, check_reachable
from cdc_lakehouse.ingest.kafka.options import (
    Offsets,
    Partition,
    Request,
    source_options,
    write_offsets,
)
from cdc_lakehouse.ingest.report import KafkaReport
from cdc_lakehouse.routes import UNROUTED, Routes, read_routes
from cdc_lakehouse.runtime.jars import installed_jars
from cdc_lakehouse.runtime.locks import hold
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.runtime.session import open_session, stopping

EARLIEST = -2  # as Spark's Kafka source writes it
PAUSE = "Waiting for next trigger"


def ingest_kafka(request: Request, project_dir: str | Path = ".") -> KafkaReport:
    """Land what is new in Kafka's topics in bronze.messages, a commit for each micro-batch.

    Messages that landed before their topic had a route are rerouted first, in a commit of their
    own. A run that stays up ends, after the micro-batch at work, with SIGTERM or SIGINT.

    Args:
        request: which topics of which brokers, and how.
        project_dir: the dbt project, for its seeds/topics.csv.

    Raises:
        LakehouseError: Kafka cannot be read, or not without a loss that nobody has accepted; the
            checkpoint is lost; the stream runs already; Spark failed.
    """
    began_at, clock = datetime.now(UTC), time.monotonic()
    routes = read_routes(Path(project_dir))
    if request.bootstrap_servers:
        check_reachable(request.bootstrap_servers)
    if not any("spark-sql-kafka" in jar.name for jar in installed_jars()):
        raise LakehouseError("The jars for Kafka have not been fetched. Run `lakehouse setup`.")
    busy = "One run of a Kafka stream at a time: wait for it to end, or name another with --name."
    again = "When the cause is removed, the next run completes what was begun."
    with hold(f"kafka-{request.name}", busy), stopping("The ingest", again):
        spark = open_session(metastore=False)
        bronze.create_tables(spark)
        rerouted = _reroute(spark, routes)
        options = source_options(spark, request)
        with Cluster(spark, options) as cluster:
            report = _Run(spark, request, routes, cluster, began_at).land(options)
    report.rerouted, report.seconds = rerouted, time.monotonic() - clock
    return report


def _reroute(spark: SparkSession, routes: Routes) -> Counter[tuple[str, str]]:
    try:
        with hold("bronze", "The next ingest reroutes."):
            return operations.reroute(spark, routes)
    except LakehouseError as busy:
        _progress(f"nothing rerouted: {busy}")
        return Counter()


class _Run:
    """One run of a stream: find out where it stands, settle what is lost, land what is new."""

    def __init__(
        self,
        spark: SparkSession,
        request: Request,
        routes: Routes,
        cluster: Cluster,
        began_at: datetime,
    ):
        self.spark, self.request, self.routes = spark, request, routes
        self.cluster, self.began_at = cluster, began_at
        self.checkpoint = Checkpoint(spark, request.name)
        self.report = KafkaReport()
        self.stopping = False

    def land(self, options: dict[str, str]) -> KafkaReport:
        self.look()
        starting = self.starting_options()
        self.checkpoint.keep_topic_ids(self.cluster.ids)
        frame = self.messages(options | starting)
        with self.stopped_by_signals():
            try:
                self.run_until_done(frame)
            except PySparkException:
                self.look()
                self.starting_options()  # says what was lost while the stream read, if that is it
                raise
        self.report.topics = len({topic for topic, _ in self.partitions})
        self.report.landed = self.count_landed()
        return self.report

    def look(self) -> None:
        """Ask Kafka for the partitions, and for what it still has of each."""
        self.partitions = self.cluster.partitions(self.request)
        if not self.partitions:
            nothing = (
                f"No topic of {self.cluster.servers} matches {self.request.subscribe_pattern}."
            )
            if self.request.every is None:
                raise LakehouseError(f"{nothing} Correct --subscribe-pattern, or make the topic.")
            self.report.notes.append(nothing)
        self.earliest, self.latest = self.cluster.extent(self.partitions)

    def starting_options(self) -> dict[str, str]:
        """Return where Spark's source begins, which it heeds only with a checkpoint that is new."""
        position = self.position()
        if position is None:
            return self.first_options()
        following = self.settled(position)
        if following != position.landed:
            self.begin(following)
        everywhere = dict.fromkeys(self.partitions, EARLIEST)
        return {"startingOffsets": write_offsets(everywhere | following)}

    def position(self) -> Position | None:
        """Return where the stream stands, None if it has not begun.

        Raises:
            LakehouseError: the checkpoint is lost, and nobody has asked to recover it.
        """
        lost = ""
        if self.checkpoint.exists():
            try:
                position = self.checkpoint.position()
                if position.landed or position.planned:
                    return position
            except Unreadable as error:
                lost = f"The checkpoint {self.checkpoint.path} {error}"
        in_bronze = deliveries.next_offsets(self.spark, {topic for topic, _ in self.partitions})
        if not lost and not in_bronze.keys() & self.partitions:
            return None
        following = {each: in_bronze.get(each, self.earliest[each]) for each in self.partitions}
        if self.request.recover:
            self.begin(following)
            return Position(following, {})
        chosen = self.request.starting_offsets or self.request.starting_timestamp is not None
        if chosen and not lost:
            return None
        lost = (
            lost or f"There is no checkpoint {self.checkpoint.path}, but bronze has these topics."
        )
        raise LakehouseError(
            f"{lost} Run again with --recover to go on behind what bronze has: from "
            f"{_listed(following)}."
        )

    def first_options(self) -> dict[str, str]:
        """Return where a stream begins that has never begun."""
        if self.request.starting_timestamp is not None:
            latest = {"startingOffsetsByTimestampStrategy": "latest"}
            return {"startingTimestamp": str(self.request.starting_timestamp), **latest}
        chosen = self.request.explicit_offsets()
        if not chosen:
            return {"startingOffsets": self.request.starting_offsets or "earliest"}
        for each, offset in chosen.items():
            if each not in self.partitions:
                raise LakehouseError(f"--starting-offsets names {_name(each)}, which is not read.")
            if offset >= 0 and not self.earliest[each] <= offset <= self.latest[each]:
                raise LakehouseError(
                    f"--starting-offsets: Kafka has {_name(each)} from {self.earliest[each]:,} to "
                    f"before {self.latest[each]:,}, not {offset:,}. Choose one of these."
                )
        return {"startingOffsets": write_offsets(dict.fromkeys(self.partitions, EARLIEST) | chosen)}

    def settled(self, position: Position) -> Offsets:
        """Return where to go on, once Kafka was asked whether all is there that was not yet read.

        Raises:
            LakehouseError: it is not, and nobody has accepted that.
        """
        known = {each: n for each, n in position.landed.items() if self.covers(each)}
        for each in sorted(position.landed.keys() - known.keys()):
            self.report.notes.append(f"{_name(each)} is no longer read; bronze keeps what it has.")
        gone = sorted(known.keys() - self.partitions)
        there = {each: offset for each, offset in known.items() if each in self.partitions}
        self.refuse_other_topics(there, position.planned)
        following = there | self.added(there)
        gaps = [
            (*each, offset, self.earliest[each] - 1)
            for each, offset in sorted(following.items())
            if offset < self.earliest[each]
        ]
        if (gaps or gone) and not self.request.accept_gaps:
            raise LakehouseError(self.loss(gaps, {each: known[each] for each in gone}))
        if gaps:
            deliveries.record_gaps(self.spark, gaps, self.began_at)
        for topic, number, first, last in gaps:
            self.report.notes.append(
                f"Accepted: {topic}/{number} lacks {_range(first, last)}, which Kafka deleted "
                "before they were read; bronze.offset_gaps says so."
            )
        for each in gone:
            self.report.notes.append(f"Accepted: {_name(each)} is gone from Kafka.")
        return {each: max(offset, self.earliest[each]) for each, offset in following.items()}

    def covers(self, partition: Partition) -> bool:
        return self.cluster.covers(self.request, partition)

    def refuse_other_topics(self, landed: Offsets, planned: Offsets) -> None:
        """Raise if a topic is another one than that which was read under its name."""
        ids = self.checkpoint.topic_ids()
        for each, offset in sorted(landed.items()):
            topic, reached = each[0], max(offset, planned.get(each, 0))
            if ids.get(topic, "") not in ("", self.cluster.ids.get(topic, "")):
                found = f"The topic {topic} was deleted and made anew since it was last read"
            elif reached > self.latest[each]:
                found = (
                    f"{_name(each)} was read up to offset {reached:,}, but Kafka's ends before "
                    f"{self.latest[each]:,}: it was made anew, or cut"
                )
            else:
                continue
            raise LakehouseError(
                f"{found}. Its new messages have offsets that bronze knows for others, so they "
                "cannot be told apart: make it under another name, and read that in its place."
            )

    def added(self, known: Offsets) -> Offsets:
        """Return where to begin with partitions that are new to the stream, if Spark would not."""
        new = self.partitions - known.keys()
        topics = {topic for topic, _ in known}
        new_topics = {topic for topic, _ in new} - topics
        begin = deliveries.next_offsets(self.spark, new_topics) if new_topics else {}
        # Spark begins a new partition at 0 or not at all. Of a topic that was read before, what
        # Kafka has deleted since is a gap; of another, it is what was before the stream.
        begin |= {
            each: self.earliest[each] if each[0] in new_topics else 0 for each in new - begin.keys()
        }
        return {each: n for each, n in begin.items() if each in new and max(n, self.earliest[each])}

    def loss(self, gaps: list[tuple[str, int, int, int]], gone: Offsets) -> str:
        found = [
            f"{topic}/{number}, {_range(first, last)}, were deleted before they were read"
            for topic, number, first, last in gaps
        ]
        found += [f"{_name(e)}, read up to offset {n:,}, is gone" for e, n in gone.items()]
        return (
            f"Kafka no longer has all that was to be read: {'; '.join(found)}. If they cannot "
            "be had elsewhere, run again with --accept-gaps: it records them in "
            "bronze.offset_gaps and goes on behind them."
        )

    def begin(self, offsets: Offsets) -> None:
        aside = self.checkpoint.begin(offsets)
        if aside:
            self.report.notes.append(f"The checkpoint was begun anew; the old one is {aside}.")

    def messages(self, options: dict[str, str]) -> DataFrame:
        """Return the stream in the shape of bronze.messages."""
        columns = {"timestamp_type": F.col("timestampType"), "format": _format_of(self.routes)}
        once = F.timestamp_micros(F.lit(bronze.microseconds(self.began_at)))
        columns["ingested_at"] = once if self.request.every is None else F.current_timestamp()
        source = self.spark.readStream.format("kafka").options(**options).load()
        names = [name for name, _, _ in bronze.MESSAGE_COLUMNS]
        return source.select(*(columns.get(name, F.col(name)).alias(name) for name in names))

    def run_until_done(self, frame: DataFrame) -> None:
        writer = frame.writeStream.format("delta").queryName(f"kafka-{self.request.name}")
        writer = writer.option("checkpointLocation", str(self.checkpoint.path))
        if self.request.every is not None:
            writer = writer.trigger(processingTime=f"{self.request.every} seconds")
        elif self.request.limit:
            # Spark bounds a micro-batch, not a run: this makes a run of one.
            writer = writer.trigger(processingTime="1000 days")
        else:
            writer = writer.trigger(availableNow=True)
        query = writer.start(str(warehouse_path("bronze", bronze.MESSAGES)))
        told, last = -1, None
        while not query.awaitTermination(0.3):
            told = self.tell_batch(query, told)
            if self.request.limit or self.stopping:
                last = told if last is None else last
                if query.status["message"] == PAUSE or (self.stopping and told > last):
                    query.stop()

    def tell_batch(self, query: StreamingQuery, told: int) -> int:
        progress = query.lastProgress
        if not progress or progress.batchId <= told:
            return told
        if progress.numInputRows:
            _progress(f"batch {progress.batchId:,}: {progress.numInputRows:,} messages")
        return progress.batchId

    @contextmanager
    def stopped_by_signals(self) -> Iterator[None]:
        """Let SIGTERM and SIGINT end a run that stays up, after the batch at work."""
        if self.request.every is None:
            yield
            return

        def stop(number, _):
            if self.stopping:
                raise KeyboardInterrupt
            self.stopping = True
            _progress(f"{signal.Signals(number).name}: stopping after the batch at work")

        before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def count_landed(self) -> list[tuple[str, int, str, int, int, int]]:
        """Count what this run has landed, by the time it bears, so that Delta skips other files."""
        began = F.timestamp_micros(F.lit(bronze.microseconds(self.began_at)))
        time = F.col("ingested_at")
        mine = time == began if self.request.every is None else time >= began
        landed = bronze.read(self.spark, bronze.MESSAGES).where(mine)
        counts = landed.groupBy("topic", "partition", "format").agg(
            F.count("*"), F.min("offset"), F.max("offset")
        )
        rows = sorted(tuple(row) for row in counts.collect())
        return [row for row in rows if self.covers(row[:2])]


def _format_of(routes: Routes) -> Column:
    """Return the format of a message's topic as an expression."""
    found = F.lit(UNROUTED)
    for route in reversed(routes.in_precedence()):
        found = F.when(F.col("topic").rlike(route.pattern), route.format).otherwise(found)
    return found


def _name(partition: Partition) -> str:
    topic, number = partition
    return f"{topic}/{number}"


def _range(first: int, last: int) -> str:
    if first == last:
        return f"offset {first:,}"
    return f"offsets {first:,} to {last:,} ({last - first + 1:,})"


def _listed(offsets: Offsets) -> str:
    shown = [f"{_name(each)} at {offset:,}" for each, offset in sorted(offsets.items())]
    more = f" and {len(shown) - 8:,} more" if len(shown) > 8 else ""
    return ", ".join(shown[:8]) + more


def _progress(text: str) -> None:
    print(f"lakehouse: {text}", file=sys.stderr, flush=True)
