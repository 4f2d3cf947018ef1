"""Look at a lakehouse: ask its tables, and Delta's logs, for the facts of a moment."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from cdc_lakehouse.delta.log import (
    bytes_since,
    count_rows,
    last_transactions,
    live_files,
    tables_in,
)
from cdc_lakehouse.delta.past import mark_of_rows
from cdc_lakehouse.engine.source_tables import SourceTable
from cdc_lakehouse.errors import LakehouseError, short_message
from cdc_lakehouse.gold.read_models import is_open, models_of, names_of_columns, readers
from cdc_lakehouse.package import RELEASE
from cdc_lakehouse.report import facts, questions
from cdc_lakehouse.report.gold_state import look_at_gold
from cdc_lakehouse.report.masking import masked_statement, sample_text
from cdc_lakehouse.report.plain import plain, plain_row
from cdc_lakehouse.routes import read_routes
from cdc_lakehouse.runtime.paths import lakehouse_dir, schema_path, warehouse_path
from cdc_lakehouse.runtime.session import FEW_STORED_BYTES, compile_plans, ended_java
from cdc_lakehouse.runtime.timings import commands_timed, read_timings
from cdc_lakehouse.sql import identifier
from cdc_lakehouse.storage.files import fitting

POINTS = 200_000  # of arrivals in a report
SPANS = (1, 5, 15, 60, 300, 900, 3600, 6 * 3600, 86400, 7 * 86400, 28 * 86400)  # seconds
MOST_SPANS = 100
SAMPLE_BYTES = 300
SAMPLED_REASONS = 100
AT_ONCE = 20  # gold tables that one query counts


class Looker:
    """Asks one lakehouse; what cannot be asked is a problem of the facts, and the rest is there."""

    def __init__(self, spark: SparkSession, project: Path, has_values: bool = False) -> None:
        """Prepare to look, in a session of its own.

        Args:
            project: the folder whose models, routes and limits count.
            has_values: whether the facts may have values of rows.

        Raises:
            LakehouseError: there is no silver yet.
        """
        self._spark, self._has_values = spark.newSession(), has_values
        prepare_to_look(self._spark)
        self._problems: list[str] = []
        self._mark, self._models = last_commit_read(), models_of(project)
        self._names = {route.source for route in read_routes(project).in_precedence()} - {""}

    def look(self, is_whole: bool = True) -> facts.Facts:
        """Return the facts.

        Args:
            is_whole: whether all of it is asked, or only what can be beyond a limit.
        """
        parts: dict[str, Callable[[], tuple[Any, ...]]] = {
            "partitions": partial(self._partitions, is_whole),
            "gaps": self._gaps,
            "drift": self._drift,
            "source_tables": self._source_tables,
            "gold_tables": self._gold_tables,
            "rejected": partial(self._rejected, is_whole),
            "sources": self._sources,
        }
        if is_whole:
            parts |= {"arrivals": self._arrivals, "runs": _runs, "stored": self._stored}
            names = [model.name for model in self._models]
            parts["gold"] = lambda: (look_at_gold(self._spark, names, self._mark),)
        with ThreadPoolExecutor(2) as pool:  # planning takes one core, and most of the time
            answers = pool.map(self._guarded, parts.keys(), parts.values())
        found = dict(zip(parts, answers, strict=True))
        span, found["arrivals"] = found.get("arrivals") or (0.0, ())
        (gold,) = found.pop("gold", ()) or (None,)
        shared = partial(self._shared_keys, found["source_tables"], found["drift"])
        found["shared_keys"] = self._guarded("shared_keys", shared)
        return facts.Facts(
            name=lakehouse_dir().name,
            made_at=time.time(),
            release=RELEASE,
            has_values=self._has_values,
            span_seconds=span,
            gold=gold,
            problems=tuple(self._problems),
            **found,
        )

    def _guarded(self, name: str, ask: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        try:
            return ask()
        except (PySparkException, Py4JError) as error:
            if ended_java(error):
                raise
            self._problems.append(
                f"{name.replace('_', ' ')} cannot be read: {short_message(error)}"
            )
            return ()

    def _ask(self, sql: str) -> list[Row]:
        return self._spark.sql(sql).collect()

    def _partitions(self, is_whole: bool) -> tuple[facts.Partition, ...]:
        waiting = {row[:2]: row for row in self._ask(questions.WAITING.format(mark=self._mark))}
        progress = {row[:2]: row for row in self._ask(questions.PROGRESS)}
        produced = {row[:2]: row for row in self._ask(questions.PRODUCED)} if is_whole else {}
        found = []
        for row in self._ask(questions.PARTITIONS):
            said: dict[str, Any] = {"format": ""}
            for rows in (waiting, progress, produced, {row[:2]: row}):
                said |= plain_row(rows[row[:2]]) if row[:2] in rows else {}
            found.append(facts.Partition(**said))
        return tuple(found)

    def _arrivals(self) -> tuple[float, tuple[facts.Arrival, ...]]:
        (extent,) = self._ask(questions.EXTENT)
        if not extent.partitions:
            return 0.0, ()
        most = max(10, min(MOST_SPANS, POINTS // extent.partitions))
        lasting = (extent.last - extent.first).total_seconds()
        span = next((s for s in SPANS if lasting < s * most), SPANS[-1])
        rows = self._ask(questions.ARRIVALS.format(span=span))
        return float(span), tuple(facts.Arrival(**plain_row(row)) for row in rows)

    def _gaps(self) -> tuple[facts.Gap, ...]:
        return tuple(facts.Gap(**plain_row(row)) for row in self._ask(questions.GAPS))

    def _rejected(self, is_whole: bool) -> tuple[facts.Rejected, ...]:
        groups = self._ask(questions.REJECTED)
        sampled = groups[:SAMPLED_REASONS] if is_whole else []
        places = [place for row in sampled for place in {row.first, row.last}]
        samples = defaultdict(list)
        for row in self._ask(questions.samples(places, SAMPLE_BYTES)) if places else []:
            text = sample_text(bytes(row.value or b""), row.size, self._has_values)
            samples[row.topic].append(facts.Sample(row.partition, row.offset, row.size, text))
        return tuple(self._rejected_group(row, samples[row.topic]) for row in groups)

    def _rejected_group(self, row: Row, samples: list[facts.Sample]) -> facts.Rejected:
        places = {(place.partition, place.offset) for place in (row.first, row.last)}
        return facts.Rejected(
            topic=row.topic,
            format=row.format,
            reason=row.reject_reason,
            messages=row.messages,
            first_offset=row.first_offset,
            last_offset=row.last_offset,
            last_ingested_at=plain(row.last_ingested_at),
            detail=row.first_detail if self._has_values else None,
            replay=questions.replay_command(row.topic, row.reject_reason),
            samples=tuple(s for s in samples if (s.partition, s.offset) in places),
        )

    def _drift(self) -> tuple[facts.Drift, ...]:
        rows, found = self._ask(questions.DRIFT), []
        landed = self._ask(questions.landed(rows)) if rows else []
        seen_at = {row[:3]: plain(row.seen_at) for row in landed}
        for row in rows:
            said = plain_row(row)
            models = readers(self._models, _source_table(row))
            said |= {
                "seen_at": seen_at.get((row.topic, row.partition, row.offset)),
                "models": tuple(model.file for model in models),
                "is_open": is_open(models, row.drift, row.column, row.previous_name),
            }
            if said["ddl"] is not None and not self._has_values:
                said["ddl"] = masked_statement(said["ddl"])
            found.append(facts.Drift(**_named(said)))
        return tuple(found)

    def _source_tables(self) -> tuple[facts.SourceTable, ...]:
        found = []
        for row in self._ask(questions.SOURCE_TABLES):
            table = _source_table(row)
            said = _named(plain_row(row)) | {"names": tuple(vars(table).values())}
            is_read = bool(readers(self._models, table))
            found.append(facts.SourceTable(has_model=is_read, **said))
        return tuple(found)

    def _sources(self) -> tuple[facts.Source, ...]:
        rows = self._ask(questions.SOURCES) if self._names else []
        return tuple(facts.Source(**plain_row(row)) for row in rows if row.source in self._names)

    def _shared_keys(
        self, tables: tuple[facts.SourceTable, ...], drift: tuple[facts.Drift, ...]
    ) -> tuple[facts.SharedKeys, ...]:
        """Ask of each model that reads several tables; a table that was renamed is one of them."""
        old_names = {each.previous_name for each in drift if each.drift == "renamed_table"}
        asked = [SourceTable(*table.names) for table in tables]
        found = []
        for model in self._models:
            read = [t.name for t in asked if model.reads_table(t) and t.table not in old_names]
            if model.source_key is None or model.reads_any_table or len(read) < 2:
                continue
            names = names_of_columns([model], model.source_key)
            for row in self._ask(questions.shared_keys(model.name, names, read)):
                key = row.first_key if self._has_values else None
                found.append(facts.SharedKeys(row.table, row.keys, tuple(row.source_tables), key))
        return tuple(found)

    def _gold_tables(self) -> tuple[facts.GoldTable, ...]:
        stored = {path.name for path in tables_in(schema_path("gold_storage"))}
        views = self._ask("show tables in gold") if stored else []
        names = sorted(stored & {row.tableName for row in views})
        problems = defaultdict(list)
        if names and self._spark.catalog.tableExists("gold.gold_problems"):
            for row in self._ask(questions.PROBLEMS):
                text = row.first_text if self._has_values else None
                problem = facts.Problem(row.column_name, row.code, row.problems, text)
                problems[row.table_name].append(problem)
        groups = [names[at : at + AT_ONCE] for at in range(0, len(names), AT_ONCE)]
        queries = (" union all ".join(map(self._rows_of, group)) for group in groups)
        rows = [row for query in queries for row in self._ask(query)]
        return tuple(
            facts.GoldTable(name, row.rows, plain(row.changed_at), tuple(problems[name]))
            for row in rows
            for name in [row.table.removeprefix("gold.")]
        )

    def _rows_of(self, name: str) -> str:
        columns = self._spark.table(f"gold.{identifier(name)}").columns
        return questions.rows_of(f"gold.{name}", columns, is_stored=True)

    def _stored(self) -> tuple[facts.Stored, ...]:
        found = []
        schemas = fitting(lakehouse_dir() / "warehouse", "*.db")
        for path in (path for schema in schemas for path in tables_in(schema)):
            files, size = live_files(self._spark, path)
            name = f"{path.parent.name.removesuffix('.db')}.{path.name}"
            found.append(facts.Stored(name, count_rows(self._spark, path), files, size))
        return tuple(found)


def prepare_to_look(spark: SparkSession) -> None:
    """Let a session plan as suits what there is to look at.

    Raises:
        LakehouseError: there is no silver yet.
    """
    if not spark.catalog.tableExists("silver.events"):
        raise LakehouseError(f"{lakehouse_dir()} holds bronze only. Run `dbt build`.")
    compile_plans(spark, _holds_much())


def _holds_much() -> bool:
    """Tell whether silver and gold are so large that plans are worth compiling."""
    gold = schema_path("gold_storage")
    tables = [warehouse_path("silver", "events"), *tables_in(gold)]
    sizes = [bytes_since(path, None) for path in tables]
    return None in sizes or sum(filter(None, sizes)) > FEW_STORED_BYTES


def _runs() -> tuple[facts.Run, ...]:
    """Return the last run of each command, the latest first."""
    found = filter(None, map(read_timings, commands_timed()))
    return tuple(
        facts.Run(
            command=run.command,
            began_at=datetime.fromisoformat(run.began_at).timestamp(),
            seconds=run.seconds,
            steps=tuple(facts.RunStep(**vars(step)) for step in run.steps),
        )
        for run in found
    )


def last_commit_read() -> int:
    """Return the commit of bronze.messages up to which silver has read; -1 before there is one."""
    events, source = warehouse_path("silver", "events"), "bronze.messages"
    newest = (last_transactions(events) or {}).get(source, -1)
    version = mark_of_rows(events, source, newest).version
    return -1 if version is None else version


def _source_table(row: Row) -> SourceTable:
    return SourceTable(row.database_name, row.schema_name, row.table_name)


def _named(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said of a source table, with its three names as one."""
    names = [said[name] for name in ("database_name", "schema_name", "table_name")]
    rest = {
        name: value
        for name, value in said.items()
        if not name.endswith("_name") or name == "previous_name"
    }
    return {"table": ".".join(name for name in names if name is not None), **rest}
