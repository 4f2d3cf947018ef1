"""Land messages from Kafka in bronze: every offset once, and no offset skipped silently."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from cdc_lakehouse.bronze import deliveries, operations
from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.ingest.kafka.checkpoint import Checkpoint
from cdc_lakehouse.ingest.kafka.cluster import Cluster, check_reachable
from cdc_lakehouse.ingest.kafka.options import Request, source_options
from cdc_lakehouse.ingest.kafka.start import Start
from cdc_lakehouse.ingest.report import KafkaReport
from cdc_lakehouse.routes import UNROUTED, Routes, read_routes
from cdc_lakehouse.runtime.jars import installed_jars
from cdc_lakehouse.runtime.locks import hold, hold_to_commit
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.runtime.progress import rows_read, say, showing
from cdc_lakehouse.runtime.session import open_session, stopping
from cdc_lakehouse.runtime.stopping import REQUESTED, requested_by_signals
from cdc_lakehouse.runtime.timings import Recorder

PAUSE = "Waiting for next trigger"
Tell = Callable[[dict[str, int]], None]


def ingest_kafka(
    request: Request,
    project_dir: str | Path = ".",
    timings: Recorder | None = None,
    tell: Tell = lambda batch: None,
) -> KafkaReport:
    """Land what is new in Kafka's topics in bronze.messages, a commit for each micro-batch.

    Messages that landed before their topic had a route are rerouted first, in a commit of their
    own. A run that stays up ends, after the micro-batch at work, with SIGTERM or SIGINT.

    Args:
        request: which topics of which brokers, and how.
        project_dir: the dbt project, for its seeds/topics.csv.
        timings: of what went before and belongs to the ingest; what it records is kept.
        tell: is told of each micro-batch that has landed messages: its number and theirs.

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
    with hold_to_commit(f"kafka-{request.name}", busy), stopping("The ingest", again):
        timings = timings or Recorder()
        with timings.step("ingest", "starts Spark"):
            spark = open_session(metastore=False)
            bronze.create_tables(spark)
        with timings.step("ingest", "reroutes", spark):
            rerouted = _reroute(spark, routes)
        options = source_options(spark, request)
        with Cluster(spark, options) as cluster, timings.step("ingest", "lands", spark) as step:
            report = _Run(spark, request, routes, cluster, began_at, tell).land(options)
            # A stream's own thread does not bear the mark of the step.
            step.rows_written += sum(landed for *_, landed, _, _ in report.landed)
        report.notes += filter(None, [timings.finish("ingest-kafka", spark)])
    report.rerouted, report.seconds = rerouted, time.monotonic() - clock
    return report


def _reroute(spark: SparkSession, routes: Routes) -> Counter[tuple[str, str]]:
    try:
        with hold("bronze", "The next ingest reroutes."):
            return operations.reroute(spark, routes)
    except LakehouseError as busy:
        say(f"nothing rerouted: {busy}")
        return Counter()


class _Run:
    """One run of a stream: find out where it stands, deal with what is lost, land what is new."""

    def __init__(
        self,
        spark: SparkSession,
        request: Request,
        routes: Routes,
        cluster: Cluster,
        began_at: datetime,
        tell: Tell,
    ):
        self.spark, self.request, self.routes = spark, request, routes
        self.cluster, self.began_at = cluster, began_at
        self.checkpoint = Checkpoint(spark, request.name)
        self.start = Start(spark, request, cluster, self.checkpoint, began_at)
        self.report = KafkaReport(notes=self.start.notes)
        self.tell, self.told = tell, 0  # messages of the batches that have landed

    def land(self, options: dict[str, str]) -> KafkaReport:
        self.start.look()
        starting = self.start.starting_options()
        self.checkpoint.keep_topic_ids(self.cluster.ids)
        self.checkpoint.keep_bronze()
        frame = self.messages(options | starting)
        with self.stopped_by_signals():
            try:
                self.run_until_done(frame)
            except PySparkException:
                self.start.look()
                # It says what was lost while the stream read, if that is it.
                self.start.starting_options()
                raise
        self.checkpoint.keep_bronze()
        self.report.topics = len({topic for topic, _ in self.start.partitions})
        self.report.landed = self.count_landed()
        return self.report

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
        # Kafka has an offset once, and a micro-batch reads it once.
        writer = writer.option("userMetadata", bronze.EACH_ONCE)
        if self.request.every is not None:
            writer = writer.trigger(processingTime=f"{self.request.every} seconds")
        elif self.request.limit:
            # Spark bounds a micro-batch, not a run: this makes a run of one.
            writer = writer.trigger(processingTime="1000 days")
        else:
            writer = writer.trigger(availableNow=True)
        query = writer.start(str(warehouse_path("bronze", bronze.MESSAGES)))
        told, last = -1, None
        with self.shown():
            # PySpark takes parts of a second; its types say only whole ones.
            while not query.awaitTermination(0.3):  # type: ignore[arg-type]
                told = self.tell_batch(query, told)
                if self.request.limit or REQUESTED.is_set():
                    last = told if last is None else last
                    if query.status["message"] == PAUSE or (REQUESTED.is_set() and told > last):
                        query.stop()

    def shown(self) -> AbstractContextManager[None]:
        """Show how far the run is; one that stays up tells its batches."""
        if self.request.every is not None:
            return nullcontext()
        ahead, at_work = self.start.messages_ahead(), rows_read(self.spark)
        if ahead is not None and self.request.limit:
            ahead = min(ahead, self.request.limit)
        return showing("lands", ahead, "messages", lambda: self.told + at_work())

    def tell_batch(self, query: StreamingQuery, told: int) -> int:
        batch = query.lastProgress
        if not batch or batch.batchId <= told:
            return told
        if batch.numInputRows:
            self.told += batch.numInputRows
            say(f"batch {batch.batchId:,}: {batch.numInputRows:,} messages")
            self.tell({"batch": batch.batchId, "messages": batch.numInputRows})
        return batch.batchId

    @contextmanager
    def stopped_by_signals(self) -> Iterator[None]:
        """Let SIGTERM and SIGINT end a run that stays up, after the batch at work."""
        if self.request.every is None:
            yield
            return

        saying = "stopping after the batch at work"
        with requested_by_signals(lambda name: say(f"{name}: {saying}")):
            yield

    def count_landed(self) -> list[tuple[str, int, str, int, int, int]]:
        """Count what this run has landed, by the time it bears, so that Delta skips other files."""
        began = F.timestamp_micros(F.lit(bronze.microseconds(self.began_at)))
        time = F.col("ingested_at")
        mine = time == began if self.request.every is None else time >= began
        landed = bronze.read(self.spark, bronze.MESSAGES).where(mine)
        if self.request.every is not None:  # files may have landed meanwhile
            landed = deliveries.not_from_files(self.spark, landed)
        counts = landed.groupBy("topic", "partition", "format").agg(
            F.count("*"), F.min("offset"), F.max("offset")
        )
        rows = sorted(tuple(row) for row in counts.collect())
        return [row for row in rows if self.start.covers(row[:2])]


def _format_of(routes: Routes) -> Column:
    """Return the format of a message's topic as an expression."""
    found = F.lit(UNROUTED)
    for route in reversed(routes.in_precedence()):
        found = F.when(F.col("topic").rlike(route.pattern), route.format).otherwise(found)
    return found
