"""The file in which a run of silver leaves its latest changes for the next run and for gold.

A change is late if an earlier run has processed one that comes after it. A gold table has nothing
to do if none of its source tables has changed. Answering either from silver.events would scan it in
each run. So a run writes the answers to a file in the table's folder, which Delta ignores. The file
is written after the commit, so it may be behind the table, never ahead of it. If it is behind, a
run adds the rows since.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Any

from cdc_lakehouse.engine.source_tables import SourceTable
from cdc_lakehouse.sql import quoted

FILE = "_latest_changes.json"
COLUMNS = "format, database_name, schema_name, table_name"
# So many runs are told apart; a gold table that is further behind asks silver.events.
RUNS = 64

# Format, database, schema and table: positions of two formats cannot be compared.
Source = tuple[str, str | None, str | None, str | None]


@dataclass(frozen=True)
class TableChanges:
    """How many changes of a source table silver has processed, in one run or in several.

    `updates` counts changes of existing rows and changes that lack columns, `pairs` those of
    before/after pairs; `drops`, a count of its own, says how often the table was dropped.
    """

    source: SourceTable
    changes: int
    updates: int
    pairs: int
    drops: int


@dataclass(frozen=True)
class Run:
    """The changes that a run of silver has processed; it has read bronze up to version `last`."""

    last: int
    tables: tuple[TableChanges, ...]


@dataclass(frozen=True)
class LatestChanges:
    """What silver.events has processed up to one of its versions.

    Attributes:
        version: that version.
        bronze_version: how far it has read bronze.messages.
        sequences: the greatest `sequence` of each source table.
        since: after which version of bronze all runs are known; -1 if all.
        runs: these runs.
        commit: the identifier of the commit that made the version; None if it is not known.
    """

    version: int
    bronze_version: int
    sequences: dict[Source, str]
    since: int
    runs: tuple[Run, ...] = ()
    commit: str | None = None

    def text(self) -> str:
        """Return it as a text for `read_latest`."""
        rows = [[*source, sequence] for source, sequence in self.sequences.items()]
        runs = [[run.last, [_flat(table) for table in run.tables]] for run in self.runs]
        return json.dumps(vars(self) | {"sequences": rows, "runs": runs})

    def changes_since(self, read: int | None) -> list[TableChanges] | None:
        """Return the changes of all runs after a version of bronze; None if not all are known."""
        after = -1 if read is None else read
        if after < self.since:
            return None
        return [table for run in self.runs if run.last > after for table in run.tables]

    def with_run(
        self, version: int, run: Run, sequences: dict[Source, str], commit: str | None = None
    ) -> "LatestChanges":
        """Return what is known once a further run has made a version of the table."""
        runs = (*self.runs, run) if run.tables else self.runs
        since = runs[-RUNS - 1].last if len(runs) > RUNS else self.since
        latest = furthest(self.sequences, sequences)
        return LatestChanges(version, run.last, latest, since, runs[-RUNS:], commit)


def nothing_known(read: int | None) -> LatestChanges:
    """Return what is known of a table that has read up to a version, if no run has left a file."""
    since = -1 if read is None else read
    return LatestChanges(-1, since, {}, since)


def _flat(table: TableChanges) -> list[Any]:
    return [*astuple(table.source), *astuple(table)[1:]]


def _table(row: Iterable[Any]) -> TableChanges:
    database, schema, table, *counts = row
    return TableChanges(SourceTable(database, schema, table), *counts)


def read_latest(text: str | None) -> LatestChanges | None:
    """Return what a run has left as a text; None if there is none that can be read."""
    try:
        kept = json.loads(text or "")
        sequences = {tuple(source): sequence for *source, sequence in kept["sequences"]}
        runs = tuple(Run(last, tuple(map(_table, tables))) for last, tables in kept["runs"])
        version, bronze = kept["version"], kept["bronze_version"]
        return LatestChanges(version, bronze, sequences, kept["since"], runs, kept.get("commit"))
    except (ValueError, TypeError, KeyError):  # it can be made up for
        return None


def furthest(*found: dict[Source, str]) -> dict[Source, str]:
    """Return of each source table the greatest of several sequences."""
    latest: dict[Source, str] = {}
    for sequences in found:
        for source, sequence in sequences.items():
            latest[source] = max(sequence, latest.get(source, ""))
    return latest


def query_of_latest(
    events: str, since: int, names_of_dropped: str, without: str | None = None
) -> str:
    """Return the query of the latest changes that came with commits of bronze after `since`.

    By format and source table: the greatest sequence and the least, and the counts of
    `TableChanges`; a table that was dropped has a row of its own for that.

    Args:
        names_of_dropped: the names of the table of a row of events, or of one that it drops.
        without: a view of messages (topic, partition, offset) whose rows do not count.
    """
    return f"""
        select
            {COLUMNS},
            max(if(is_drop, null, sequence)) as sequence,
            min(if(is_drop, null, sequence)) as first_sequence,
            count(*) as changes,
            count_if(operation not in ('snapshot', 'insert') or not after_is_complete) as updates,
            count_if(operation in ('update_before', 'update_after')) as pairs,
            count_if(is_drop) as drops
        from (
            select
                format, operation, sequence, after_is_complete, dropped is not null as is_drop,
                {names_of_dropped}
            from (
                select *, explode_outer(dropped_tables) as dropped
                from {events} as processed
                where (kind in ('row_change', 'truncate') or dropped_tables is not null
                        or (kind = 'control' and format = 'full_extract'))
                    and bronze_version > {since}
                    and {is_of_none("processed", without) if without else "true"}
            )
            where dropped is null or dropped.table_name is not null
        )
        group by {COLUMNS}, is_drop"""


def is_of_none(row: str, messages: str) -> str:
    """Return the condition that a row is of none of the messages in a view, by their identity."""
    return f"""
        not exists (
            select 1 from {messages} as other
            where (other.topic, other.partition, other.offset)
                = ({row}.topic, {row}.partition, {row}.offset)
        )"""


def sequences_of(rows: Iterable[Any]) -> dict[Source, str]:
    """Return the greatest sequences of the rows of the query."""
    return {tuple(row[:4]): row[4] for row in rows if row[4] is not None}


def first_sequences_of(rows: Iterable[Any]) -> dict[Source, str]:
    """Return the least sequences of the rows of the query."""
    return {tuple(row[:4]): row[5] for row in rows if row[5] is not None}


def counts_of(rows: Iterable[Any]) -> tuple[TableChanges, ...]:
    """Return the counts of the rows of the query, of all formats together."""
    found: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for _, database, schema, table, _, _, *counts in rows:
        names = database, schema, table, counts[-1] > 0
        found[names] = [a + b for a, b in zip(found[names], counts, strict=True)]
    return tuple(TableChanges(SourceTable(*names), *c) for (*names, _), c in found.items())


def query_of_rows(sequences: dict[Source, str]) -> str:
    """Return a query that gives the latest changes as rows."""
    names = [*COLUMNS.split(", "), "sequence"]
    if not sequences:
        return f"select {', '.join(f'cast(null as string) as {n}' for n in names)} where false"
    rows = (
        ", ".join("null" if value is None else quoted(value) for value in (*source, sequence))
        for source, sequence in sequences.items()
    )
    columns = ", ".join(f"cast({name} as string) as {name}" for name in names)
    return f"select {columns} from values ({'), ('.join(rows)}) as t ({', '.join(names)})"
