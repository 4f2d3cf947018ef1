"""Land a full extract of a table in bronze: all of its rows in one commit, or none."""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cdc_lakehouse.bronze import deliveries
from cdc_lakehouse.bronze.ledger import APPLICATION
from cdc_lakehouse.bronze.tables import MESSAGE_COLUMNS, microseconds
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.ingest.files import File
from cdc_lakehouse.ingest.landing import Ingest
from cdc_lakehouse.ingest.writing import writing
from cdc_lakehouse.operate.reconcile.known import KnownTable, find_known, key_of
from cdc_lakehouse.operate.reconcile.source import Source, read_source
from cdc_lakehouse.routes import EXTRACT, EXTRACT_TOPIC, read_routes
from cdc_lakehouse.runtime.paths import lakehouse_dir
from cdc_lakehouse.runtime.session import compile_plans
from cdc_lakehouse.runtime.standalone import is_cluster
from cdc_lakehouse.runtime.timings import Recorder
from cdc_lakehouse.sql import identifier
from cdc_lakehouse.storage.files import Location, remove_tree
from cdc_lakehouse.storage.objects import ObjectPath

LONGEST = 32 << 20  # bytes of a row: silver takes none that is longer, so it would seem gone
NAMED = 5  # rows that an error names


@dataclass(frozen=True)
class Request:
    """What a person asks: an extract of a table, and when reading it began.

    `key` may be empty: then the gold model says it. `is_partial` tells whether it may lack columns.
    """

    table: str
    source: Source
    taken_at: datetime
    key: Sequence[str] = ()
    is_partial: bool = False


@dataclass
class ExtractReport:
    """What was landed of an extract; nothing if it had landed before."""

    table: str = ""
    taken_at: datetime | None = None
    key: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    rows: int = 0
    topic: str = ""
    partition: int | None = None
    is_new: bool = False
    seconds: float = 0
    notes: list[str] = field(default_factory=list)


def land_extract(
    request: Request, project_dir: Path, timings: Recorder | None = None
) -> ExtractReport:
    """Land an extract in bronze.messages, in one commit; one that has landed is not landed again.

    Raises:
        LakehouseError: nothing was landed, and why.
    """
    clock = time.monotonic()
    refuse_future(request.taken_at)
    routes, timings = read_routes(project_dir), timings or Recorder()
    with writing(timings) as (spark, staging):
        ingest = Ingest(spark, routes, staging, timings)
        compile_plans(spark, True)
        with ingest.step("reads and stages rows"), _folder_for_rows(spark, staging) as folder:
            extract = stage_extract(spark, request, project_dir, folder)
            report = extract.report(request)
            label = f"{extract.topic}@{request.taken_at:%Y-%m-%dT%H:%M:%S}"
            known, batch = ingest.known_files([label])
            if any(row.digest == extract.digest for row in known.get(label, [])):
                report.notes.append(f"This extract of {report.table} has landed before.")
            else:
                if label in known:
                    report.notes.append(
                        "Another extract of the same moment has landed before: this one counts."
                    )
                _land(ingest, extract, request, label, batch, report)
        report.seconds = time.monotonic() - clock
        report.notes += filter(None, [timings.finish("ingest-snapshot", spark)])
    return report


def refuse_future(taken_at: datetime) -> None:
    """Refuse a moment that has not come.

    Raises:
        LakehouseError: it has not.
    """
    if taken_at > datetime.now(UTC):
        raise LakehouseError(
            f"--taken-at {taken_at:%Y-%m-%d %H:%M:%S} (UTC) has not come yet. Give the moment at "
            "which reading began; a time with another zone ends with its offset, such as +08:00."
        )


@dataclass
class Extract:
    """An extract that is staged: rows as JSON texts, each with its key."""

    table: KnownTable
    key: list[str]
    columns: list[str]
    staged: DataFrame
    rows: int
    digest: str

    @property
    def topic(self) -> str:
        """The topic of its messages, one of each table."""
        return f"{EXTRACT_TOPIC}{self.table}"

    def report(self, request: Request) -> ExtractReport:
        """The report of the extract before it lands."""
        report = ExtractReport(str(self.table), request.taken_at, self.key, self.columns, self.rows)
        if not self.table.columns:
            report.notes.append(
                f"silver has no change of {self.table} yet. Is its name that of its feed?"
            )
        return report


def stage_extract(
    spark: SparkSession, request: Request, project_dir: Path, folder: Location
) -> Extract:
    """Read an extract to the end and keep its rows in a folder: nobody changes what is landed.

    Raises:
        LakehouseError: it cannot be an extract of the table.
    """
    table = find_known(spark, request.table)
    key = key_of(table, request.key, project_dir)
    rows = read_source(spark, request.source)
    _refuse_columns(table, key, rows.columns, request.is_partial)
    row = F.map_from_arrays(
        F.array(*map(F.lit, rows.columns)), F.array(*(rows[identifier(n)] for n in rows.columns))
    )
    texts = rows.select(
        F.to_json(F.struct(row.alias("row"))).alias("value"),
        F.array(*(rows[identifier(name)] for name in key)).alias("key"),
    )
    texts.write.parquet(str(folder))
    staged = spark.read.schema("value string, key array<string>").parquet(str(folder))
    ((count, digest, longest, lacks_key),) = staged.select(
        F.count("*"),
        F.expr("sum(cast(conv(left(md5(value), 15), 16, 10) as decimal(38, 0)))"),
        F.max(F.octet_length("value")),
        F.count_if(F.exists("key", lambda part: part.isNull())),
    ).collect()
    if lacks_key:
        _refuse_rows(staged, "exists(key, part -> part is null)", key, "lack a part of the key")
    grouped = staged.groupBy("key").agg(F.count("*").alias("rows"))
    _refuse_rows(grouped, "rows > 1", key, "come twice")
    if (longest or 0) > LONGEST:
        condition = f"octet_length(value) > {LONGEST}"
        _refuse_rows(staged, condition, key, f"are longer than {LONGEST:,} bytes")
    what = f"{sorted(rows.columns)} {key} {request.is_partial} {count} {digest}"
    digest = hashlib.blake2b(what.encode()).hexdigest()
    return Extract(table, key, list(rows.columns), staged, count, digest)


def _refuse_columns(
    table: KnownTable, key: Sequence[str], columns: Sequence[str], is_partial: bool
) -> None:
    if lacking := [name for name in key if name not in columns]:
        raise LakehouseError(
            f"The extract lacks the key of {table}: {', '.join(lacking)}. Its columns are "
            f"{', '.join(columns)}."
        )
    lacking = [name for name in table.columns if name not in columns]
    if lacking and not is_partial:
        raise LakehouseError(
            f"The extract lacks columns of {table}: {', '.join(lacking)}. Give it all columns; or "
            "with --partial it changes those that it has, and deletes no row."
        )


def _refuse_rows(rows: DataFrame, condition: str, key: Sequence[str], what: str) -> None:
    found = rows.where(condition).select("key").take(NAMED + 1)
    if found:
        shown = "; ".join(
            ", ".join(f"{n}={v}" for n, v in zip(key, row.key, strict=True))
            for row in found[:NAMED]
        )
        more = " and others" if len(found) > NAMED else ""
        raise LakehouseError(f"Rows of the extract {what}: {shown}{more}. Nothing was landed.")


@contextmanager
def _folder_for_rows(spark: SparkSession, staging: Path) -> Iterator[Location]:
    """Yield where rows are staged: workers of a cluster beside object storage see that alone."""
    home = lakehouse_dir()
    if not isinstance(home, ObjectPath) or not is_cluster(spark.sparkContext.master or ""):
        yield staging / "extract"
        return
    folder = home / "tmp" / "extract"
    remove_tree(folder)  # what a killed run has left
    yield folder
    remove_tree(folder)


def _land(
    ingest: Ingest,
    extract: Extract,
    request: Request,
    label: str,
    batch: int,
    report: ExtractReport,
) -> None:
    spark, topic = ingest.spark, extract.topic
    partition = 1 + deliveries.highest_partitions(spark, {topic}).get(topic, -1)
    moment = microseconds(request.taken_at)
    messages = Counter({topic: extract.rows + 1})
    file = File(label, 0, moment * 1000, messages=messages)
    file.digest, file.topic, file.partition = extract.digest, topic, partition
    ingest.record_intent([file], batch)
    frame = messages_of(extract, request, partition, ingest.began_at)
    deliveries.append_frame(frame, (APPLICATION, batch), each_once=True)
    report.topic, report.partition, report.is_new = topic, partition, True


def messages_of(
    extract: Extract, request: Request, partition: int, ingested_at: datetime
) -> DataFrame:
    """Return the messages of an extract: one that says what it is, and one for each row."""
    said = {
        "database": extract.table.database,
        "schema": extract.table.schema,
        "table": extract.table.name,
        "taken_at": f"{request.taken_at.astimezone(UTC):%Y-%m-%d %H:%M:%S}",
        "key": extract.key,
        "is_partial": request.is_partial,
        "rows": extract.rows,
    }
    spark = extract.staged.sparkSession
    placed = extract.staged.select(
        "value",
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.row_index").alias("row"),
    )
    counts = sorted(tuple(row) for row in placed.groupBy("file").count().collect())
    first, begins = 1, []
    for file, count in counts:
        begins.append((file, first))
        first += count
    places = spark.createDataFrame(begins, "file string, begin bigint")
    rows = placed.join(F.broadcast(places), "file").select(
        (F.col("begin") + F.col("row")).alias("offset"), F.encode("value", "UTF-8").alias("value")
    )
    end = spark.range(1).select(
        F.lit(0).cast("bigint").alias("offset"), F.lit(None).cast("binary").alias("value")
    )
    given = {
        "topic": F.lit(extract.topic),
        "partition": F.lit(partition),
        "offset": F.col("offset"),
        "timestamp": F.timestamp_micros(F.lit(microseconds(request.taken_at))),
        "timestamp_type": F.lit(0),
        "key": F.encode(F.lit(json.dumps(said, ensure_ascii=False)), "UTF-8"),
        "value": F.col("value"),
        "headers": F.lit(None),
        "format": F.lit(EXTRACT),
        "ingested_at": F.timestamp_micros(F.lit(microseconds(ingested_at))),
    }
    columns = [given[name].cast(kind).alias(name) for name, kind, _ in MESSAGE_COLUMNS]
    return end.unionByName(rows).select(*columns)
