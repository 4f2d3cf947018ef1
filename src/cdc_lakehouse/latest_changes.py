"""The place that silver has come to in the order of each source table.

A change is late if an earlier run has processed one that comes after it. To ask silver.events would
be to read all of it in each run, so a run leaves what it has come to in a file of the table's
folder, which Delta does not look at. The file is written after the commit: it may be behind the
table, and is then made up for from the rows since, but never ahead of it.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from cdc_lakehouse.bronze import quoted

FILE = "_latest_changes.json"
COLUMNS = "format, database_name, schema_name, table_name"

# Format, database, schema and table: positions of two formats cannot be compared.
Source = tuple[str, str | None, str | None, str | None]


@dataclass(frozen=True)
class LatestChanges:
    """The greatest `sequence` of each source table, up to a version of bronze.messages."""

    version: int
    sequences: dict[Source, str]


def kept_changes(folder: Path) -> LatestChanges | None:
    """Return what the last run has left in a table's folder; None if nothing that can be read."""
    try:
        kept = json.loads((folder / FILE).read_text())
        return LatestChanges(kept["version"], {tuple(s): q for *s, q in kept["sequences"]})
    except (OSError, ValueError, TypeError, KeyError):  # it can be made up for
        return None


def keep_changes(folder: Path, latest: LatestChanges) -> None:
    """Leave in a table's folder what a run has come to."""
    rows = [[*source, sequence] for source, sequence in latest.sequences.items()]
    draft = folder / f"{FILE}.new"
    draft.write_text(json.dumps({"version": latest.version, "sequences": rows}))
    os.replace(draft, folder / FILE)


def forget_changes(folder: Path) -> None:
    """Remove what earlier runs have left: the table is built again."""
    (folder / FILE).unlink(missing_ok=True)


def furthest(*found: dict[Source, str]) -> dict[Source, str]:
    """Return of each source table the greatest of several sequences."""
    latest: dict[Source, str] = {}
    for sequences in found:
        for source, sequence in sequences.items():
            latest[source] = max(sequence, latest.get(source, ""))
    return latest


def query_of_latest(events: str, since: int, without: str | None = None) -> str:
    """Return the query of the latest changes that came with commits of bronze after `since`.

    Args:
        without: a view of messages (topic, partition, offset) whose rows do not count.
    """
    excluded = f"""
        and not exists (
            select 1 from {without} as other
            where (other.topic, other.partition, other.offset)
                = (processed.topic, processed.partition, processed.offset)
        )"""
    return f"""
        select {COLUMNS}, max(sequence) as sequence
        from {events} as processed
        where kind in ('row_change', 'truncate') and sequence is not null
            and bronze_version > {since}
        {excluded if without else ""}
        group by {COLUMNS}"""


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
