"""Erase data subjects: every row and message of a table that has their key, from all of its copies.

Nothing that is written on the way names the key: statements find rows by their place in the topics.
"""

import csv
import hashlib
import json
import os
import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import and_, or_
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from cdc_lakehouse.bronze import operations
from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.bronze.removal import (
    ERASURE,
    IDENTITY,
    Removal,
    interrupted,
    rows_frame,
    runs_of,
)
from cdc_lakehouse.bronze.tables import MESSAGES
from cdc_lakehouse.delta.log import latest_version, transaction_version
from cdc_lakehouse.delta.purge import purge, remove_left_overs
from cdc_lakehouse.delta.watermark import version_of
from cdc_lakehouse.engine.commit import set_for_one_statement, settings_of_commit
from cdc_lakehouse.errors import LakehouseError, short_message
from cdc_lakehouse.gold.source_tables import SourceTable, find_table, split_names
from cdc_lakehouse.operate.other_tables import (
    UNKNOWN_REMEDY,
    Finder,
    Maker,
    Project,
    identity_of,
    is_delta,
    key_hash,
    named,
    tables_of,
    text_of,
)
from cdc_lakehouse.runtime.locks import hold
from cdc_lakehouse.runtime.paths import lakehouse_dir, warehouse_path
from cdc_lakehouse.runtime.session import stopping
from cdc_lakehouse.sql import quoted

ROW = [*IDENTITY, "row_number"]
HALVES = ("update_before", "update_after")
STOP = "An erasure needs the lakehouse for itself: stop that, or wait for it to end."

ROW_IMAGES = re.compile(r"`?silver`?\.`?row_images`?")

Key = tuple[str, ...]


@dataclass
class Found:
    """What there is of the subjects."""

    rows: list[list] = field(default_factory=list)  # of silver.events
    messages: int = 0
    deliveries: int = 0  # rows of bronze.messages
    unread: int = 0  # of the messages: those that no format could read, or that wait for others
    neighbours: tuple[int, int] = (0, 0)  # messages that hold other rows too, and these rows
    other_keys: list[Key] = field(default_factory=list)  # that rows moved to or from
    files: list[str] = field(default_factory=list)  # that delivered the messages
    runs: list[list] = field(default_factory=list)
    models: list[list[str]] = field(default_factory=list)
    tests: list[list[str]] = field(default_factory=list)
    cleaned: list[list] = field(default_factory=list)  # see `Removal`
    cleaned_rows: dict[str, int] = field(default_factory=dict)  # of them, by table
    hashes: list[str] = field(default_factory=list)
    left: list[list[str]] = field(default_factory=list)
    undecided: list[list[str]] = field(default_factory=list)
    seeds: list[str] = field(default_factory=list)  # files whose rows hold the key's text


@dataclass
class Report:
    """What a person reads about an erasure, and whether nothing is left to do by hand."""

    lines: list[str] = field(default_factory=list)
    is_complete: bool = True

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def erase(
    table: str | None, subjects: Sequence[dict[str, str]], project_dir: Path, dry_run: bool = False
) -> Report:
    """Remove data subjects from all tables and the disk; name the tables that have to be cleaned.

    An erasure that was interrupted is completed first; with no `table`, that is all.

    Args:
        table: DB.TABLE or DB.SCHEMA.TABLE of the source, names with dots in backticks.
        subjects: the canonical texts of the key's columns, by their names in the source.
        dry_run: find and count, change nothing.

    Raises:
        LakehouseError: nothing was done, or less than all: then the text says how to go on.
    """
    if table and not subjects:
        raise LakehouseError("Name the data subject: --key COLUMN=VALUE, or --keys-file FILE.")
    if not table and not interrupted(ERASURE):
        raise LakehouseError("Name a table, `lakehouse erase DB.TABLE`: no erasure is unfinished.")
    report = Report()
    with _alone() as (spark, locks):
        if not dry_run:
            _complete_interrupted(spark, locks, project_dir, report)
        if table:
            _Erasure(spark, locks, table, subjects, project_dir).run(dry_run, report)
    return report


def read_keys(path: Path) -> list[dict[str, str]]:
    """Read data subjects from a CSV file whose header names the key's columns.

    Raises:
        LakehouseError: the file cannot be read, or a line has too few or too many fields.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            lines = [(reader.line_num, fields) for fields in reader if fields]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise LakehouseError(f"{path} cannot be read as CSV in UTF-8: {reason}.") from None
    for number, fields in lines:
        if len(fields) != len(header):
            raise LakehouseError(
                f"{path}, line {number}: {len(fields)} fields where the header has {len(header)}."
            )
    if not lines or not all(all(fields) for _, fields in lines):
        raise LakehouseError(
            f"{path} names no key, or one without a value. Write a header of columns, then a "
            "line for each key."
        )
    return [dict(zip(header, fields, strict=True)) for _, fields in lines]


def read_key(parts: Sequence[str]) -> dict[str, str]:
    """Return the key that COLUMN=VALUE texts give; a column's name may stand in backticks.

    Raises:
        LakehouseError: a text has no `=`, or a column comes twice.
    """
    key: dict[str, str] = {}
    for part in parts:
        found = re.fullmatch(r"((?:`(?:[^`]|``)+`|[^`=]+))=(.*)", part, re.DOTALL)
        if not found:
            raise LakehouseError("--key is COLUMN=VALUE: no column's name stands before a `=`.")
        (name,) = split_names(found[1], "\0")
        if not found[2]:
            raise LakehouseError(f"--key gives the column {name} no value.")
        if name in key:
            raise LakehouseError(f"--key gives the column {name} twice. For several use a file.")
        key[name] = found[2]
    return key


@contextmanager
def _alone() -> Iterator[tuple[SparkSession, "_Locks"]]:
    from dbt_common.exceptions import DbtRuntimeError

    from dbt.adapters.lakehouse.connections import holds_metastore, root_session

    with ExitStack() as stack:
        locks = _Locks(stack)
        locks.keep_writers_out()
        if not holds_metastore():
            hold("metastore", STOP).close()  # dbt takes it below; known here in no time
        stack.enter_context(hold("bronze", STOP))
        again = "When the cause is removed, `lakehouse erase` alone completes what was begun."
        with stopping("The erasure", again, DbtRuntimeError):
            if not (lakehouse_dir() / "warehouse" / "silver.db" / "events").exists():
                raise LakehouseError("There is no silver.events yet. Run `dbt build`.")
            spark = root_session({}).newSession()
            operations.complete_operations(spark)  # from the log that is about to be cut
            yield spark, locks


class _Locks:
    """The locks of all who append to bronze, also of those that begin while an erasure runs."""

    def __init__(self, stack: ExitStack):
        self.stack, self.held = stack, set()

    def keep_writers_out(self) -> None:
        streams = {path.name for path in (lakehouse_dir() / "locks").glob("kafka-*")}
        for name in sorted({"ingest", *streams} - self.held):
            self.stack.enter_context(hold(name, STOP))
            self.held.add(name)


def _complete_interrupted(
    spark: SparkSession, locks: _Locks, project_dir: Path, report: Report
) -> None:
    for removal in interrupted(ERASURE):
        counts = _carry_out(spark, locks, removal)
        report.lines += [*_lines_of_counts(counts), *_not_reached(removal.files)]
        folders = " and ".join(map(str, _log_folders(project_dir)))
        report.lines.append(f"  logs of earlier runs: search {folders} for the key")
        report.lines += _lines_of_left(removal.left, removal.undecided)
        what = f"The erasure that was interrupted on {removal.began_at}"
        _conclude(report, what, removal.left)


def _conclude(report: Report, what: str, left: list[list[str]]) -> None:
    if left:
        report.is_complete = False
        report.lines.append(f"{what} is not complete: {_tables(left)} named above to be cleaned.")
    else:
        report.lines.append(f"{what} is complete.")


def _tables(left: list[list[str]]) -> str:
    return "1 table is" if len(left) == 1 else f"{len(left):,} tables are"


def _lines_of_left(left: list[list[str]], undecided: list[list[str]]) -> list[str]:
    lines = []
    if left:
        lines.append("Not cleaned, so do it by hand:")
        lines += [f"  {table}: {why}" for table, why in left]
    if undecided:
        lines.append("No row of these holds the key's text; what else they hold is not known:")
        lines += [f"  {table}: {why}" for table, why in undecided]
    return lines


def _lines_of_counts(counts: dict[str, tuple[int, int]]) -> list[str]:
    return [
        f"{table}: {before - after:,} rows removed, {after:,} stay"
        for table, (before, after) in counts.items()
    ]


def _not_reached(files: list[str]) -> list[str]:
    return [
        "Not reached: the topics in Kafka, delivered files, backups, others' copies.",
        *(f"  delivered by {path}" for path in files if Path(path).exists()),
    ]


def _log_folders(project_dir: Path) -> list[Path]:
    """Return where dbt writes, also in earlier runs: a merge names the keys that it looks for."""
    folders = [os.environ.get("DBT_LOG_PATH") or Path(project_dir) / "logs"]
    folders.append(os.environ.get("DBT_TARGET_PATH") or Path(project_dir) / "target")
    return [Path(folder) for folder in folders]


def _carry_out(spark: SparkSession, locks: _Locks, removal: Removal) -> dict[str, tuple[int, int]]:
    """Do all that a removal says, where it has not been done; return the rows before and after."""
    removal.remove_messages(spark)
    rows_frame(spark, removal.rows).createOrReplaceTempView("removed_rows")
    if removal.rows:
        spark.sql("""
            merge into silver.events as events
            using removed_rows as removed
            on events.topic = removed.topic
                and events.partition = removed.partition
                and events.offset = removed.offset
                and events.row_number = removed.row_number
            when matched then delete
        """)
    _advance_watermark(spark)
    tables = [table for _, table in (*removal.models, *removal.tests)]
    tables += [table for table, *_ in removal.cleaned]
    before = {table: _rows(spark, table) for table in tables if _is_there(spark, table)}
    finder = Finder(spark, removal.hashes, removal.number)
    for cleaning in removal.cleaned:
        if cleaning[0] in before:
            finder.remove(*cleaning)
    if removal.models:
        # A merge cannot take back what a change did; but gold is a function of silver.
        _dbt("run", "--full-refresh", "-s", *sorted({name for name, _ in removal.models}))
    if removal.tests:
        _dbt("test", "--store-failures", "-s", *(name for name, _ in removal.tests), may_fail=True)
    tables = [table for table in tables if _is_there(spark, table)]
    counts = {table: (before.get(table, 0), _rows(spark, table)) for table in tables}
    locks.keep_writers_out()
    purge(spark, f"bronze.{MESSAGES}")
    _advance_watermark(spark)
    for table in ("silver.events", *tables):
        if is_delta(spark, table):
            purge(spark, named(table))
    for view in spark.catalog.listTables():
        if view.isTemporary:
            spark.catalog.dropTempView(view.name)
    remove_left_overs(spark)
    removal.end(spark)
    return counts


def _is_there(spark: SparkSession, table: str) -> bool:
    return spark.catalog.tableExists(named(table))


def _rows(spark: SparkSession, table: str) -> int:
    """Count a table's rows; dbt has maybe replaced the files of which this session knows."""
    spark.catalog.refreshTable(named(table))
    return spark.table(named(table)).count()


def _advance_watermark(spark: SparkSession) -> None:
    """Let silver have read the commits of bronze that only removed: their files are to go."""
    mark = _watermark(spark)
    read, last = version_of(mark), latest_version(spark, warehouse_path("bronze", MESSAGES))
    if read == last:
        return
    _refuse_unsettled(spark, read)
    with set_for_one_statement(spark, settings_of_commit("bronze.messages", last, mark)):
        spark.sql("update silver.events set topic = topic where false")


def _refuse_unsettled(spark: SparkSession, read: int) -> None:
    new = spark.table("bronze.messages").where(f"_metadata.row_commit_version > {read}")
    if count := new.count():
        raise LakehouseError(
            f"{count:,} messages of bronze are not settled in silver yet, so it is not known whose "
            "they are. Run `dbt run`, then `lakehouse erase` again."
        )


def _watermark(spark: SparkSession) -> int:
    mark = transaction_version(spark, warehouse_path("silver", "events"), "bronze.messages")
    if mark < 0:
        raise LakehouseError("silver.events has settled nothing yet. Run `dbt run`.")
    return mark


def _dbt(*arguments: str, may_fail: bool = False) -> list:
    """Run dbt in this process, on its Spark, and return the results of the nodes.

    Args:
        may_fail: whether tests may find something.
    """
    done = _invoke(*arguments)
    results = list(getattr(done.result, "results", None) or [])
    bad = ("error",) if may_fail else ("error", "fail")
    failed = [f"{r.node.name}: {r.message}" for r in results if str(r.status) in bad]
    if done.exception or failed or not (done.success or may_fail):
        _stop(arguments[0], "\n".join(failed) or str(done.exception))
    return results


def _manifest():
    """Return all that the project consists of."""
    done = _invoke("parse")
    if not done.success:
        _stop("parse", str(done.exception))
    return done.result


def _invoke(*arguments: str):
    from dbt.cli.main import dbtRunner

    return dbtRunner().invoke(["--quiet", "--log-level", "none", *arguments])


def _stop(command: str, said: str) -> None:
    raise LakehouseError(
        f"dbt {command} failed: {said}\n"
        "Run `lakehouse erase` again when the cause is removed; that completes what was begun."
    )


class _Erasure:
    def __init__(
        self,
        spark: SparkSession,
        locks: _Locks,
        table: str,
        subjects: Sequence[dict[str, str]],
        project_dir: Path,
    ):
        self.spark, self.locks, self.project_dir = spark, locks, project_dir
        self.number = uuid.uuid4().hex
        seen = spark.sql("""
            select database_name, schema_name, table_name, collect_set(key_columns) as seen_keys
            from silver.events
            where kind = 'row_change'
            group by database_name, schema_name, table_name
        """).collect()
        tables = [SourceTable(*row[:3], columns=(), types={}, key=None) for row in seen]
        self.table = find_table(tables, table)
        self.columns = self.checked_columns(seen[tables.index(self.table)].seen_keys, subjects)
        self.subjects = {tuple(subject[c] for c in self.columns) for subject in subjects}
        self.where = (
            f"database_name = {quoted(self.table.database)} "
            f"and table_name = {quoted(self.table.name)} and schema_name <=> "
            + (quoted(self.table.schema) if self.table.schema is not None else "null")
        )

    def checked_columns(self, keys: list[list[str]], subjects) -> list[str]:
        names = list(subjects[0])
        if not keys:
            return names
        if not any(sorted(names) == sorted(key) for key in keys):
            wanted = " or ".join(", ".join(key) for key in keys)
            raise LakehouseError(
                f"The key of {self.table} is {wanted}, not {', '.join(names)}. Give each of its "
                "columns, --key COLUMN=VALUE, as the source names it."
            )
        return names

    def run(self, dry_run: bool, report: Report) -> None:
        _refuse_unsettled(self.spark, version_of(_watermark(self.spark)))
        found = self.find()
        left = _lines_of_left(found.left, found.undecided)
        if not found.rows and not found.messages:
            report.lines += [f"Nothing found of {self.subject_text()} in {self.table}.", *left]
            report.is_complete = report.is_complete and not found.left
            return
        if dry_run:
            report.lines += [*self.lines(found, {}, dry_run), *left]
            report.lines.append("Nothing was changed: a dry run.")
            return
        digests = sorted(_digest(self.table, self.columns, key) for key in self.subjects)
        selection = {"table": str(self.table), "key_columns": self.columns, "blake2b": digests}
        names = ("rows", "models", "tests", "cleaned", "hashes", "left", "undecided", "files")
        what = {name: getattr(found, name) for name in names}
        removal = Removal(ERASURE, json.dumps(selection), found.runs, **what, number=self.number)
        removal.begin()
        counts = _carry_out(self.spark, self.locks, removal)
        report.lines += [*self.lines(found, counts, dry_run), *self.unreached(found), *left]
        _conclude(report, "The erasure", found.left)

    def find(self) -> Found:
        spark, found = self.spark, Found()
        keys = [(list(key),) for key in self.subjects]
        spark.createDataFrame(keys, "key array<string>").createOrReplaceTempView("subjects")
        changes = self.changes()
        rows = [list(change[:4]) for change in changes]
        touched = {key for c in [*changes, *self.halves_of(changes)] for key in _keys(c)}
        found.other_keys = sorted(touched - self.subjects)
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
            self.look_at_tables(found, {})
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
        counts = others.agg(F.count_distinct(*IDENTITY), F.count("*")).first()
        found.neighbours = (counts[0], counts[1])
        delivered = spark.table("bronze.landed_files").join(
            spark.table("subject_messages"), ["topic", "partition"], "left_semi"
        )
        found.files = sorted({row.path for row in delivered.select("path").collect()})
        self.look_at_tables(found, self.rows_of_gold())
        return found

    def changes(self) -> list[Row]:
        """Return the row changes that have a subject's key before or after."""
        names = [quoted(column) for column in self.columns]
        new = ", ".join(f"after[{name}]" for name in names)
        # What `before` does not hold has not changed, be it a part of the key.
        old = ", ".join(f"coalesce(before[{name}], after[{name}])" for name in names)
        self.spark.sql(f"""
            select *, array({new}) as new_key, array({old}) as old_key
            from silver.events
            where kind = 'row_change' and {self.where}
        """).createOrReplaceTempView("changes_of_table")
        mine = self.spark.sql("""
            select * from changes_of_table
            where new_key in (select key from subjects) or old_key in (select key from subjects)
        """)
        return mine.select(*ROW, "format", "sequence", "operation", "new_key", "old_key").collect()

    def halves_of(self, changes: list[Row]) -> list[Row]:
        """Return the halves of updates that are delivered in two, which name the key moved to."""
        halves = {(c.format, c.sequence) for c in changes if c.operation in HALVES}
        if not halves:
            return []
        frame = self.spark.createDataFrame(list(halves), "format string, sequence string")
        table = self.spark.table("changes_of_table").where(F.col("operation").isin(*HALVES))
        return table.join(frame, ["format", "sequence"], "left_semi").collect()

    def shards_of(self, changes: list[Row]) -> list[list]:
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

    def unread(self) -> list[list]:
        """Return messages whose bytes name a subject's key and whose rows silver does not know.

        They are rejected ones, tombstones of Kafka, shards that wait for others, and other bytes
        under an identity that is settled; each with whether its row of silver goes with it.
        """
        topics = self.spark.sql(
            f"select distinct topic from silver.events where kind <> 'rejected' and {self.where}"
        )
        topics = [row.topic for row in topics.collect()]
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
            .where(_names_a_subject(text, self.subjects))
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

    def rows_of_gold(self) -> dict[str, str | None]:
        """Return the gold models that take rows of the subjects, each with a query of their keys.

        Gold is asked what it makes of those rows alone; a model that does not read row_images
        cannot be asked, so it counts, without a query.
        """
        images = self.spark.table("silver.row_images").join(
            self.spark.table("removed_rows"), ROW, "left_semi"
        )
        images.localCheckpoint().createOrReplaceTempView("subject_images")
        names = ", ".join(f"image[{quoted(column)}]" for column in self.columns)
        self.spark.sql(
            f"select * from subject_images where array({names}) in (select key from subjects)"
        ).createOrReplaceTempView("images_of_keys")
        gold = [node.name for node in self.project.gold()]
        queries: dict[str, str | None] = {}
        for result in _dbt("compile", "-s", *gold) if gold else []:
            node = result.node
            sql, count = ROW_IMAGES.subn("subject_images", node.compiled_code)
            if not count:
                queries[node.name] = None
            elif self.spark.sql(sql).limit(1).collect():
                queries[node.name] = ROW_IMAGES.sub("images_of_keys", node.compiled_code)
        return queries

    @cached_property
    def project(self) -> Project:
        return Project(_manifest())

    def look_at_tables(self, found: Found, gold: dict[str, str | None]) -> None:
        """Find out what becomes of each table that the metastore knows.

        Args:
            gold: see `rows_of_gold`.
        """
        # Where silver has nothing of the subjects, any table may have kept something.
        is_new = bool(found.rows or found.messages)
        makers = self.project.makers(lambda name: name in gold or not is_new)
        own = {f"bronze.{name}" for name in bronze.TABLES} | {"silver.events"}
        tables = set(tables_of(self.spark)) - own
        anew = [m for m in makers if m.table in tables and not m.is_kept]
        if is_new:
            models = [m for m in anew if m.kind in ("gold", "model")]
            found.models = sorted([m.name, m.table] for m in models)
            found.tests = sorted([m.name, m.table] for m in anew if m.kind == "test")
        keys = self.keys_of_snapshots(makers, gold, found)
        finder = Finder(self.spark, found.hashes, self.number)
        by_table = {m.table: m for m in makers}
        done = {table for _, table in (*found.models, *found.tests)}
        done |= {m.table for m in makers if m.kind == "gold"}
        seeds, known = self.project.seeds(), self.project.known_tables()
        for table in sorted(tables - done):
            maker = by_table.get(table)
            if maker or table not in known:
                self.look_at(table, maker, keys, finder, found)
            elif table in seeds and self.names_of(self.spark.table(named(table))):
                found.seeds.append(seeds[table])

    def keys_of_snapshots(
        self, makers: list[Maker], gold: dict[str, str | None], found: Found
    ) -> dict[str, list[str]]:
        """Return the keys of the gold models whose rows snapshots keep; hash the subjects' keys."""
        keys = {}
        for name in sorted({maker.of for maker in makers if maker.of and gold.get(maker.of)}):
            keys[name] = self.project.key_of(name)
            hashed = F.expr(key_hash(keys[name], self.number + name))
            rows = self.spark.sql(gold[name]).select(hashed.alias("hash")).distinct()
            found.hashes += [row.hash for row in rows.collect()]
        return keys

    def look_at(
        self,
        table: str,
        maker: Maker | None,
        keys: dict[str, list[str]],
        finder: Finder,
        found: Found,
    ) -> None:
        """Find out how a table that is not built anew is cleaned, or why it cannot be."""
        remedy = maker.remedy() if maker else UNKNOWN_REMEDY
        of = maker.of if maker and maker.of in keys else ""
        try:
            frame = self.spark.table(named(table))
            identity = identity_of(frame)
            key = [c for c in keys.get(of, []) if c in frame.columns]
            key = key if key == keys.get(of) else []
            rows = finder.marked(table, identity, key, of)
            is_named = _names_a_subject(text_of(frame), self.subjects)
            counts = rows.agg(
                F.count_if("_is_found"), F.count_if(~F.col("_is_found") & is_named)
            ).first()
        except (PySparkException, Py4JError) as error:
            said = " ".join(short_message(error).splitlines())
            found.left.append([table, f"cannot be read ({said}); {remedy}"])
            return
        of_subjects, others = counts
        if of_subjects and is_delta(self.spark, table):
            found.cleaned.append([table, identity, key, of])
            found.cleaned_rows[table] = of_subjects
        else:
            others += of_subjects
        if others:
            why = f"{others:,} rows hold the key's text, maybe by chance"
            found.left.append([table, f"{why}; {remedy}"])
        elif not identity and not key and (found.rows or found.messages):
            if maker:
                why = "no row holds the key's text, but it is made of rows of the subjects"
                found.left.append([table, f"{why}; {remedy}"])
            else:
                found.undecided.append([table, UNKNOWN_REMEDY])

    def names_of(self, frame: DataFrame) -> bool:
        """Tell whether a row holds the key's text."""
        return bool(frame.where(_names_a_subject(text_of(frame), self.subjects)).limit(1).count())

    def subject_text(self) -> str:
        return "the key" if len(self.subjects) == 1 else f"the {len(self.subjects):,} keys"

    def lines(self, found: Found, counts: dict, dry_run: bool) -> list[str]:
        has = "would be" if dry_run else "were"
        lines = [
            f"{self.table}, {self.subject_text()} in {', '.join(self.columns)}:",
            f"bronze.messages: {found.deliveries:,} rows {has} removed "
            f"({found.messages:,} messages)",
            f"silver.events: {len(found.rows):,} rows {has} removed",
        ]
        if dry_run:
            lines += [f"{table} would be built anew" for _, table in (*found.models, *found.tests)]
            lines += [
                f"{table}: {rows:,} rows would be removed"
                for table, rows in found.cleaned_rows.items()
            ]
        lines += _lines_of_counts(counts)
        if found.unread:
            lines.append(
                f"{found.unread:,} of the messages are rejected, tombstones or shards: their bytes "
                "hold the key's text."
            )
        messages, rows = found.neighbours
        if messages:
            lines.append(
                f"{messages:,} of the messages hold other rows too: {rows:,} rows stay in silver "
                "and gold and lose their bytes in bronze, so silver.events cannot be rebuilt."
            )
        if found.other_keys:
            lines.append("Rows moved from or to other keys, which are not erased:")
            lines += [
                f"  {', '.join(f'{c}={v}' for c, v in zip(self.columns, key, strict=True))}"
                for key in found.other_keys
            ]
        return lines

    def unreached(self, found: Found) -> list[str]:
        lines = _not_reached(found.files)
        lines += [f"  the seed {path}, which holds the key's text" for path in found.seeds]
        logs = (p for f in _log_folders(self.project_dir) for p in sorted(f.rglob("*")))
        holding = [str(p) for p in logs if p.is_file() and _holds(p, self.subjects)]
        if holding:
            lines.append(
                "These logs of earlier runs hold the key's text, maybe by chance; delete them:"
            )
            lines += [f"  {path}" for path in holding]
        return lines


def _digest(table: SourceTable, columns: Sequence[str], key: Key) -> str:
    named = json.dumps([str(table), sorted(zip(columns, key, strict=True))], ensure_ascii=False)
    return hashlib.blake2b(named.encode()).hexdigest()


def _keys(change: Row) -> set[Key]:
    return {tuple(key) for key in (change.new_key, change.old_key) if None not in key}


def _names_a_subject(text: Column, subjects: set[Key]) -> Column:
    """Whether a text, a character a byte, holds all parts of one of the keys."""
    conditions = [
        reduce(and_, [text.rlike(_pattern(part)) for part in key]) for key in sorted(subjects)
    ]
    return reduce(or_, conditions)


def _holds(path: Path, subjects: set[Key]) -> bool:
    text = path.read_bytes().decode("latin-1")
    return any(all(re.search(_pattern(part), text) for part in key) for key in subjects)


def _pattern(part: str) -> str:
    """Return a pattern of the bytes of a text that stands for itself: as in JSON, or as in Avro.

    Letters, digits and _ beside it make it another text, unless they are JSON's escapes. What
    cannot be told apart counts: one rejected message too many is better than one too few.
    """
    escaped = json.dumps(part)[1:-1]
    forms = {part, escaped, re.sub(r"\\u[0-9a-f]{4}", lambda m: "\\u" + m[0][2:].upper(), escaped)}
    forms.add(json.dumps(part, ensure_ascii=False)[1:-1])
    texts = "|".join(sorted(_bytes_pattern(form.encode()) for form in forms))
    begins = r"(?:(?<![0-9A-Za-z_])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4}))"
    size = _bytes_pattern(_avro_long(len(part.encode())))
    return f"{begins}(?:{texts})(?![0-9A-Za-z_])|{size}{_bytes_pattern(part.encode())}"


def _bytes_pattern(data: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in data)


def _avro_long(number: int) -> bytes:
    """Return a count as Avro writes it before a text."""
    rest, encoded = number << 1, bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*encoded, rest])
