"""The place that silver has come to in the order of each source table.

A change is late if an earlier run has processed one that comes after it. To ask silver.events would
be to read all of it in each run, so a run leaves what it has come to in a file of the table's
folder, which Delta does not look at. The file is written after the commit: it may be behind the
table, and is then made up for from the rows since, but never ahead of it.
"""

import json
from dataclasses import dataclass

from cdc_lakehouse.sql import quoted

FILE = "_latest_changes.json"
COLUMNS = "format, database_name, schema_name, table_name"

# Format, database, schema and table: positions of two formats cannot be compared.
Source = tuple[str, str | None, str | None, str | None]


@dataclass(frozen=True)
class LatestChanges:
    """The greatest `sequence` of each source table in a version of silver.events.

    `bronze_version` is how far that version has read bronze.messages.
    """

    version: int
    bronze_version: int
    sequences: dict[Source, str]

    def text(self) -> str:
        """Return it as a text for `read_latest`."""
        rows = [[*source, sequence] for source, sequence in self.sequences.items()]
        return json.dumps(vars(self) | {"sequences": rows})


def read_latest(text: str | None) -> LatestChanges | None:
    """Return what a run has left as a text; None if there is none that can be read."""
    try:
        kept = json.loads(text or "")
        sequences = {tuple(source): sequence for *source, sequence in kept["sequences"]}
        return LatestChanges(kept["version"], kept["bronze_version"], sequences)
    except (ValueError, TypeError, KeyError):  # it can be made up for
        return None


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
