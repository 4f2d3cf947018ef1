"""The place of a full extract among the changes of its table.

An extract says what a table held at a moment; a change says its position in the source's log. Only
commit times connect the two. The place of an extract is just before the first change, by position,
that was not committed before the moment; if there is no such change, it is after the last one. So
the place depends on which changes there are, not on the order in which they and the extract
arrived.

A late change may move the place. Silver then gives the rows of the extract their new place before
it has the change, and the gold tables of that table are rebuilt, as after a replay.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdc_lakehouse.routes import EXTRACT as FORMAT
from cdc_lakehouse.sql import quoted

# The property of a change log that has extracts: the others are not asked for them.
PROPERTY = "cdc_lakehouse.extracts"
# Between a place and what stands at it; of the characters in a sequence it sorts first.
BEHIND = "!"

IDENTITY = "topic, partition"
NAMES = ("database_name", "schema_name", "table_name")

# The extracts among new messages: each has one message without a value, which says so of all.
QUERY_OF_NEW = f"""
    select topic, partition, said.database, said.schema, said.table, unix_micros(taken_at), null
    from (
        select *, try_to_timestamp(said.taken_at, 'yyyy-MM-dd HH:mm:ss') as taken_at
        from (
            select
                topic, partition,
                from_json(
                    cast(key as string),
                    'database string, schema string, table string, taken_at string'
                ) as said
            from new_messages
            where format = '{FORMAT}' and value is null
        )
    )
    where said.table is not null and taken_at is not null"""


# Topic and partition of the messages of an extract.
Key = tuple[str, int]


@dataclass(frozen=True)
class Extract:
    """An extract: its messages, its table, the moment in microseconds, its place if it has one."""

    topic: str
    partition: int
    database: str | None
    schema: str | None
    table: str
    taken_at: int
    place: str | None = None

    @property
    def key(self) -> Key:
        """The topic and partition, which identify an extract."""
        return self.topic, self.partition

    @property
    def names(self) -> list[str | None]:
        """The names of its table, as the property of reprocessed tables has them."""
        return [self.database, self.schema, self.table]


def extracts_of(rows: Iterable[Sequence[Any]]) -> list[Extract]:
    """Return the extracts that the rows of a query tell."""
    return [Extract(*row) for row in rows]


def query_of_known(events: str, without: str | None = None) -> str:
    """Return the query of the extracts that a change log has.

    Args:
        without: the condition on a row of it, `processed`, that it does not count.
    """
    return f"""
    select
        topic, partition, {", ".join(NAMES)}, unix_micros(committed_at),
        substring_index(sequence, '{BEHIND}', 1)
    from {events} as processed
    where format = '{FORMAT}' and kind = 'control' and {without or "true"}"""


def query_of_places(extracts: Sequence[Extract], changes: str, names_of_dropped: str) -> str:
    """Return the query of the places of extracts: topic, partition, place.

    Snapshot rows do not bound an extract: they have no commit order, and often all sort first.

    Args:
        changes: the query of all changes, as `COLUMNS_OF_CHANGES` of the change log.
        names_of_dropped: the names of the table of a row of it, or of one that it drops.
    """
    return f"""
    with extracts as ({_rows_of(extracts)}),
    changes as ({_changes_of(extracts, changes, names_of_dropped)}),
    since as (
        select extracts.topic, extracts.partition, min(changes.sequence) as sequence
        from extracts
        inner join changes on {_IS_OF_TABLE}
        where {_IS_SINCE}
        group by extracts.topic, extracts.partition
    ),
    bounded as (
        select extracts.*, since.sequence as first_since
        from extracts
        left join since
            on extracts.topic = since.topic and extracts.partition = since.partition
    )
    select extracts.topic, extracts.partition, coalesce(max(changes.sequence), '') as place
    from bounded as extracts
    left join changes
        on {_IS_OF_TABLE} and {_IS_BEFORE}
        and (extracts.first_since is null or changes.sequence < extracts.first_since)
    group by extracts.topic, extracts.partition"""


def query_of_movable(extracts: Sequence[Extract], changes: str, names_of_dropped: str) -> str:
    """Return the query of the extracts that new changes can move: topic, partition.

    A change moves an extract if it was committed before the moment and sorts behind the place, or
    the reverse.
    """
    return f"""
    with extracts as ({_rows_of(extracts)}),
    changes as ({_changes_of(extracts, changes, names_of_dropped)})
    select distinct extracts.topic, extracts.partition
    from extracts
    inner join changes on {_IS_OF_TABLE}
    where
        ({_IS_BEFORE} and changes.sequence > extracts.place)
        or ({_IS_SINCE} and changes.sequence <= extracts.place)"""


def query_of_rows(places: Mapping[Key, str]) -> str:
    """Return the query that gives places as rows, for the model of the format."""
    if not places:
        return "select '' as topic, 0 as partition, '' as place where false"
    rows = ", ".join(f"({quoted(t)}, {n}, {quoted(place)})" for (t, n), place in places.items())
    return f"select topic, partition, place from values {rows} as t (topic, partition, place)"


def update_of(events: str, places: Mapping[Key, str]) -> str:
    """Return the statement that gives the rows of extracts other places, in one commit."""
    is_of = {key: f"topic = {quoted(key[0])} and partition = {key[1]}" for key in places}
    cases = " ".join(f"when {is_of[key]} then {quoted(place)}" for key, place in places.items())
    return (
        f"update {events} set sequence = concat(case {cases} end, "
        f"substring(sequence, instr(sequence, '{BEHIND}'))) where format = '{FORMAT}' "
        f"and ({' or '.join(f'({each})' for each in is_of.values())}) and sequence is not null"
    )


COLUMNS_OF_CHANGES = (
    f"format, kind, operation, {', '.join(NAMES)}, dropped_tables, sequence, committed_at"
)
_IS_OF_TABLE = " and ".join(f"extracts.{name} <=> changes.{name}" for name in NAMES)
_IS_BEFORE = "changes.committed_at < extracts.taken_at"
_IS_SINCE = "changes.committed_at >= extracts.taken_at and not changes.operation <=> 'snapshot'"


def _rows_of(extracts: Sequence[Extract]) -> str:
    """The extracts as rows; a moment is cut to the second, as many sources cut their times."""

    def row(each: Extract) -> str:
        texts = (each.topic, *each.names, each.place)
        topic, *rest = ("null" if text is None else quoted(text) for text in texts)
        second = each.taken_at - each.taken_at % 1_000_000
        return f"({topic}, {each.partition}, {', '.join(rest)}, {second})"

    columns = ("topic", "partition", *NAMES, "place", "micros")
    texts = ", ".join(f"cast({name} as string) as {name}" for name in (*NAMES, "place"))
    return (
        f"select {IDENTITY}, {texts}, timestamp_micros(micros) as taken_at "
        f"from values {', '.join(map(row, extracts))} as t ({', '.join(columns)})"
    )


def _changes_of(extracts: Sequence[Extract], changes: str, names_of_dropped: str) -> str:
    tables = ", ".join(sorted({quoted(each.table) for each in extracts}))
    return f"""
        select {names_of_dropped}, operation, sequence, committed_at
        from (
            select *, explode_outer(dropped_tables) as dropped
            from ({changes}) as everything
            where
                format <> '{FORMAT}' and sequence is not null
                and ((kind in ('row_change', 'truncate') and table_name in ({tables}))
                    or dropped_tables is not null)
        )"""
