"""The changes that a run of a gold table writes: how many, of which kinds, and of which keys."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cdc_lakehouse.engine.columns import IS_BEGUN_ELSEWHERE, Column, Key
from cdc_lakehouse.engine.latest_changes import TableChanges
from cdc_lakehouse.engine.steps import Ask, Plan
from cdc_lakehouse.sql import quoted

# Up to so many changes the keys are named one by one.
FEW = 32
# A key that is longer cannot stand in a statement.
LONGEST_KEY = 1000
# Delta keeps the first and the last value of a file of these types, and their texts read back as
# the same values.
WITH_STATISTICS = re.compile("tinyint|smallint|int|bigint|decimal|string|date|timestamp")


@dataclass(frozen=True)
class NewChanges:
    """The changes in silver for a gold table, counted by source table."""

    tables: tuple[TableChanges, ...] = ()

    @property
    def most(self) -> int:
        """An upper bound of the new changes. If it is 0, the run does not read silver."""
        return sum(each.changes for each in self.tables)

    @property
    def has_updates(self) -> bool:
        """Whether some change existing rows, or are inserts that may do so."""
        return any(each.updates for each in self.tables)

    @property
    def has_pairs(self) -> bool:
        """Whether some belong to before/after pairs: updates that came as two messages."""
        return any(each.pairs for each in self.tables)

    @property
    def drops(self) -> str:
        """The condition that a marker is of a table that was dropped; empty if none was."""
        dropped = ", ".join(quoted(each.source.name) for each in self.tables if each.drops)
        return f"_source_table in ({dropped})" if dropped else ""


@dataclass(frozen=True)
class Changes:
    """The changes that a run writes.

    Attributes:
        count: how many; not known of a table that is built.
        partial_changes, replaced_rows: how many do not carry all columns, and are rows that an
            update removes;
            of a table that is built whether there are any.
        truncates: whether a source table was truncated or dropped.
        keys: a condition on stored rows that file statistics can decide: where the keys can be.
        is_partial: whether columns are looked at one by one, as some change does not carry all of
            them or some stored row has older ones.
        follows_keys: whether rows were followed through changes of their keys.
        has_pairs: whether some can be of before/after pairs, of which the others may be stored.
        noted: properties that tell what kinds of rows the table gets with them.
        begun_rows: how many are inserts of rows that had another key before, and lack columns.
    """

    count: int = 0
    partial_changes: int = 0
    replaced_rows: int = 0
    truncates: bool = False
    keys: str = "true"
    is_partial: bool = False
    follows_keys: bool = False
    has_pairs: bool = False
    noted: Mapping[str, str] = field(default_factory=dict)
    begun_rows: int = 0

    @property
    def forgets(self) -> bool:
        """Whether stored changes of a history can turn out to be none."""
        return self.follows_keys or self.has_pairs


def count_changes(key: Key, few: bool) -> Plan[Changes]:
    """Return what the changes in the view `new_changes` are, in one query.

    Args:
        few: whether the values of the key's first column are listed.
    """
    (answer,) = yield Ask(query_of_summary(key, few))
    row = answer.asDict()
    return Changes(
        row["changes"],
        row["partial_changes"],
        row["replaced_rows"],
        row["truncates"] > 0,
        "false" if row["first_0"] is None else where_keys_are(row, key),
        begun_rows=row["begun_rows"],
    )


def query_of_summary(key: Key, few: bool) -> str:
    """Return the query of what the changes in the view `new_changes` are."""
    counts = [
        "count(*) as changes",
        "count_if(_column_sequences is not null) as partial_changes",
        "count_if(_is_replaced) as replaced_rows",
        f"count_if({IS_BEGUN_ELSEWHERE}) as begun_rows",
        "count_if(_truncated_table is not null) as truncates",
    ]
    for number, column in enumerate(key.ordered):
        text = f"cast({column.sql} as string)"
        counts += [
            f"left(cast(min({column.sql}) as string), {LONGEST_KEY}) as first_{number}",
            f"left(cast(max({column.sql}) as string), {LONGEST_KEY}) as last_{number}",
            f"max(length({text})) <= {LONGEST_KEY} as is_short_{number}",
        ]
    if few:
        first = f"left(cast({key.ordered[0].sql} as string), {LONGEST_KEY})"
        counts.append(f"to_json(collect_set({first})) as keys")
    return f"select {', '.join(counts)} from new_changes"


def where_keys_are(row: Mapping[str, Any], key: Key) -> str:
    """Return the condition that a stored row can have one of the keys.

    A few are named, of many the first and the last: Delta skips the files that can hold none of
    them. Not those of a column with a value that is too long for a statement.
    """
    conditions = []
    for column in key.columns:
        place = key.ordered.index(column)
        if not WITH_STATISTICS.match(column.kind) or not row[f"is_short_{place}"]:
            continue
        name = f"stored.{column.sql}"
        if place == 0 and row.get("keys") is not None:
            listed = (f"{name} = {_value(each, column)}" for each in json.loads(row["keys"]))
            conditions.append(f"({' or '.join(listed)})")
        else:
            first, last = (_value(row[f"{end}_{place}"], column) for end in ("first", "last"))
            conditions.append(f"{name} between {first} and {last}")
    return " and ".join(conditions) or "true"


def _value(text: str, column: Column) -> str:
    return f"cast({quoted(text)} as {column.data_type})"
