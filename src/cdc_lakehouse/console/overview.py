"""A first look at a lakehouse: what fits on a screen, and what to type next."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cdc_lakehouse.console.exact import iso
from cdc_lakehouse.console.next_steps import next_steps
from cdc_lakehouse.console.text_table import text_table
from cdc_lakehouse.delta.log import count_rows
from cdc_lakehouse.errors import short_message
from cdc_lakehouse.report.looking import prepare_to_look
from cdc_lakehouse.report.questions import rows_of
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.runtime.session import ended_java, relations_in
from cdc_lakehouse.sql import identifier

# A screen of 24 lines has room for so many topics and gold tables, beside what is around them.
SHOWN = 14
LONGEST = 160  # characters of a problem: two lines
TOPIC, TABLE = 34, 46  # characters of their names that fit a line of 80
# silver.events alone is asked: the views over it take seconds to plan.
TOPICS = """select topic, count_if(row_number = 0) as messages,
    count_if(kind = 'rejected') as rejected,
    cast(date_trunc('second', max(committed_at)) as string) as changed_at
    from silver.events group by topic order by topic"""
Found = TypeVar("Found")


@dataclass(frozen=True)
class Topic:
    """The results of a topic; `changed_at` is the latest commit in its source, UTC."""

    topic: str
    messages: int
    rejected: int
    changed_at: str | None


@dataclass(frozen=True)
class GoldTable:
    """A gold table or a mart: its active rows, and the commit of its latest change, UTC."""

    table: str
    rows: int
    changed_at: str | None


@dataclass
class Overview:
    """All topics and gold tables; `problems` says what could not be looked at, and why."""

    messages: int  # rows of bronze.messages
    events: int  # rows of silver.events
    topics: list[Topic] = field(default_factory=list)
    gold: list[GoldTable] = field(default_factory=list)
    gold_tables: int = 0  # also of those that were left out
    problems: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """Return what a program reads."""
        topics = [vars(topic) | {"changed_at": iso(topic.changed_at)} for topic in self.topics]
        gold = [vars(table) | {"changed_at": iso(table.changed_at)} for table in self.gold]
        return vars(self) | {"topics": topics, "gold": gold}

    def text(self) -> str:
        """Return what a person reads: at most 23 lines, and 80 columns if the commands fit."""
        is_whole = len(self.gold) == self.gold_tables
        active = sum(table.rows for table in self.gold if table.table.startswith("gold."))
        gold = _number(active, "row") if is_whole else _number(self.gold_tables, "table")
        messages, events = _number(self.messages, "message"), _number(self.events, "event")
        topics, tables = _shares(len(self.topics), self.gold_tables)
        blocks = [[f"bronze {messages}, silver {events}, gold {gold}"]]
        rows = [
            [t.topic, f"{t.messages:,}", f"{t.rejected:,}", t.changed_at or ""] for t in self.topics
        ]
        header = ["topic", "messages", "rejected", "last change (UTC)"]
        blocks.append(_list(header, rows, len(rows), topics, TOPIC))
        rows = [[t.table, f"{t.rows:,}", t.changed_at or ""] for t in self.gold]
        header = ["gold table", "rows", "last change (UTC)"]
        failed = sum(problem.startswith(("gold.", "marts.")) for problem in self.problems)
        blocks.append(_list(header, rows, self.gold_tables - failed, tables, TABLE))
        blocks.append([problem[:LONGEST] for problem in self.problems[:2]])
        table = next((t.table for t in self.gold), "silver.events")
        blocks.append(next_steps(table, any(t.rejected for t in self.topics)))
        return "\n\n".join("\n".join(block) for block in blocks if block)


def look(spark: SparkSession, is_for_screen: bool) -> Overview:
    """Look at the tables of the lakehouse; what cannot be looked at is named.

    Args:
        spark: on the tables of the lakehouse.
        is_for_screen: ask of no more gold tables than there is room for.

    Raises:
        LakehouseError: there is no silver yet.
    """
    prepare_to_look(spark)
    messages, events = (count_rows(spark, warehouse_path(*name)) for name in _COUNTED)
    found = Overview(messages, events)
    stored = relations_in(spark, "gold_storage")
    # A history is there once, not at the moment at which all tables are complete, too.
    beside = {f"{name.removesuffix('_history')}_complete" for name in stored} | {"gold_problems"}
    names = [
        f"{schema}.{name}"
        for schema, left_out in (("gold", beside - stored), ("marts", set[str]()))
        for name in sorted(relations_in(spark, schema) - left_out)
    ]
    found.gold_tables = len(names)
    with ThreadPoolExecutor(2) as pool:  # planning takes one core, and most of the time
        topics = pool.submit(_tried, found, "silver.events", lambda: _topics(spark))
        found.gold = _gold(spark, found, names[:SHOWN] if is_for_screen else names, stored)
        found.topics = topics.result() or []
    return found


_COUNTED = (("bronze", "messages"), ("silver", "events"))


def _topics(spark: SparkSession) -> list[Topic]:
    return [Topic(*row) for row in spark.sql(TOPICS).collect()]


def _gold(
    spark: SparkSession, found: Overview, names: list[str], stored: set[str]
) -> list[GoldTable]:
    """Ask all tables in one query; only if one of them fails, each by itself."""
    selects = {
        name: select
        for name in names
        if (select := _tried(found, name, partial(_select, spark, name, stored)))
    }
    if not selects:
        return []

    def ask(*asked: str) -> list[GoldTable]:
        rows = spark.sql(" union all ".join(asked)).collect()
        return [GoldTable(*row) for row in rows]

    try:
        return sorted(ask(*selects.values()), key=lambda table: table.table)
    except (PySparkException, Py4JError):
        each = [_tried(found, name, partial(ask, select)) for name, select in selects.items()]
        return [table for tables in each for table in tables or []]


def _select(spark: SparkSession, table: str, stored: set[str]) -> str:
    schema, name = table.split(".", 1)
    columns = spark.table(f"{schema}.{identifier(name)}").columns
    rows = rows_of(table, columns, schema == "gold" and name in stored)
    return (
        f"(select `table`, `rows`, cast(date_trunc('second', changed_at) as string) from ({rows}))"
    )


def _tried(found: Overview, table: str, ask: Callable[[], Found]) -> Found | None:
    """Return what is asked of a table; None if that fails, and the overview says why."""
    try:
        return ask()
    except (PySparkException, Py4JError) as error:
        if ended_java(error):
            raise
        reason = " ".join(short_message(error).splitlines())
        found.problems.append(f"{table} cannot be shown: {reason}")
        return None


def _shares(topics: int, tables: int) -> tuple[int, int]:
    """Return how many lines the two lists get, neither less than half unless it needs less."""
    of_tables = min(tables, max(SHOWN // 2, SHOWN - topics))
    return min(topics, SHOWN - of_tables), of_tables


def _list(
    header: list[str], rows: list[list[str]], count: int, lines: int, limit: int
) -> list[str]:
    """Return a list in so many lines below its header; the last one may say how many more are."""
    shown = rows if count <= lines else rows[: lines - 1]
    if not shown:
        return []
    head, _, *listed = text_table(header, shown, limit).splitlines()
    more = [f"and {count - len(shown):,} more"] if count > len(shown) else []
    return [head, *listed, *more]


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
