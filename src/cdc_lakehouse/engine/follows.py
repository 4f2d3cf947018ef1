"""A mart that follows gold tables: what it is, what it has read of them, and why it is rebuilt.

Its option `follows` names columns of the mart for each gold table. A row of the mart is made only
of rows of that table with the same values in these columns. So the old and new values in the
changes of the table tell which rows of the mart have to be computed again.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbt.adapters.base.relation import BaseRelation

from cdc_lakehouse.delta.statements import names, settings
from cdc_lakehouse.engine.change_feed import FeedReading
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.sql import identifier

# The parts of a query that cannot name a table: texts and comments.
NO_NAME = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|--[^\n]*|/\*.*?\*/"""


@dataclass(frozen=True)
class Followed:
    """A gold table that a mart is made of.

    Attributes:
        name, relation: of the gold model.
        columns: columns of the mart, each with the expression over a row of the gold table that
            has the same value.
        touched: the query of the values that changes have touched, by its name.
    """

    name: str
    relation: BaseRelation
    columns: Mapping[str, str]
    touched: str

    @property
    def values(self) -> str:
        """The values of a row of the gold table, under the names of the mart's columns."""
        return ", ".join(f"{given} as {identifier(name)}" for name, given in self.columns.items())

    def touches(self, row: str) -> str:
        """The condition that touched values are those of a row of the mart."""
        return same(self.columns, "touched", row)


@dataclass(frozen=True)
class Mart:
    """A mart that follows gold tables.

    Attributes:
        relation, sql: its table and its query.
        key: the columns that tell its rows apart.
        cluster_by: the columns by which Delta arranges the files of its table.
        columns: what the YAML declares, if dbt is to hold the query to it.
    """

    name: str
    relation: BaseRelation
    sql: str
    key: tuple[str, ...]
    followed: tuple[Followed, ...]
    columns: Mapping[str, Mapping[str, Any]]
    cluster_by: tuple[str, ...] = ()

    @property
    def definition(self) -> str:
        """A name of all that decides its rows, except the rows of the gold tables."""
        types = {name: column.get("data_type") for name, column in self.columns.items()}
        tables = [[each.name, dict(each.columns)] for each in self.followed]
        text = json.dumps([self.sql, self.key, tables, types, self.cluster_by])
        return hashlib.md5(text.encode()).hexdigest()

    @property
    def key_columns(self) -> str:
        """The columns of the key as SQL lists them."""
        return names(self.key)

    def key_of(self, row: str) -> str:
        """The columns of the key of a row."""
        return names(self.key, f"{row}.")

    def listed(self, columns: Sequence[str], template: str) -> str:
        """The columns in SQL, each in the place of `{0}` in a template."""
        return ", ".join(template.format(identifier(column)) for column in columns)

    @property
    def clauses(self) -> str:
        """The clauses of the statement that makes the table, besides its query."""
        return settings({}, self.cluster_by)

    @property
    def said_of_two_rows(self) -> str:
        """The error of a query with several rows of a key, before the key."""
        return (
            f"The SQL of {self.name} has several rows with one key ({', '.join(self.key)}). Give "
            "it one row for each, or name more columns in unique_key. The key: "
        )

    def is_same_row(self, one: str, other: str) -> str:
        """The condition that two rows have the same key."""
        return same(self.key, one, other)

    def has_key(self, followed: Followed) -> bool:
        """Whether the touched values of a table are whole keys of the mart."""
        return set(followed.columns) == set(self.key)


def same(columns: Sequence[str] | Mapping[str, str], one: str, other: str) -> str:
    """The condition that two rows agree in columns, where two nulls do."""
    return " and ".join(f"{one}.{c} <=> {other}.{c}" for c in map(identifier, columns))


def query_of_feeds(mart: Mart, readings: Mapping[str, FeedReading]) -> str:
    """Return the query of a mart over the tables that keep the feeds of its gold tables.

    A gold table and its feed are two commits: a run that is killed between them may leave rows
    that no change of the feed tells.

    Raises:
        LakehouseError: the query does not name a gold table as ref() does.
    """
    tables = {f.relation.render(): readings[f.name].table for f in mart.followed}
    named = "|".join(map(re.escape, tables))
    parts = re.compile(rf"(?<![\w.`])(?P<table>{named})(?![\w`])|{NO_NAME}", re.DOTALL)
    found = set()

    def of_feed(part: re.Match[str]) -> str:
        if part["table"] is None:
            return part[0]
        found.add(part["table"])
        return tables[part["table"]]

    query = parts.sub(of_feed, mart.sql)
    if missing := tables.keys() - found:
        raise LakehouseError(
            f"The SQL of {mart.name} does not read {min(missing)}, which its ref() is given: name "
            "each gold table of follows in the `from` or a `join` by {{ ref('...') }}."
        )
    return query


@dataclass(frozen=True)
class Read:
    """What a mart has read: its definition then, and a position in each feed.

    Attributes:
        positions: by the names of gold models a commit of the feed and what `FeedReading.text`
            gave with it; none of a table that had no feed yet.
    """

    definition: str
    positions: Mapping[str, tuple[int, str]]

    @classmethod
    def of(cls, mart: Mart, readings: Mapping[str, FeedReading]) -> "Read":
        """Return what a mart has read with readings."""
        found = {name: (r.last, r.text) for name, r in readings.items() if r.last >= 0}
        return cls(mart.definition, found)

    @classmethod
    def kept(cls, text: str | None) -> "Read | None":
        """Return what a commit has noted as `text`; None if it has noted nothing."""
        if not text:
            return None
        definition, positions = json.loads(text)
        return cls(definition, {name: (last, feed) for name, (last, feed) in positions.items()})

    @property
    def text(self) -> str:
        """The text that a commit notes."""
        return json.dumps([self.definition, self.positions])

    def since(self, followed: Followed) -> dict[str, Any] | None:
        """What was read of a table's feed, as `last_change_read` has it."""
        position = self.positions.get(followed.name)
        return {"commit": position[0], "feed": position[1]} if position else None


def why_mart_is_rebuilt(
    mart: Mart, kept: Read | None, has_other_changes: bool, is_asked: bool
) -> str | None:
    """Return why a mart that is there is rebuilt whatever its gold tables have; None if not.

    Args:
        kept: what it has read; None if its log does not tell.
        has_other_changes: whether another program has changed rows since.
        is_asked: whether a person asks for it.
    """
    if is_asked:
        return "--full-refresh asks for it"
    if kept is None:
        return "its log does not tell what it has read"
    if has_other_changes:
        return "its rows were changed by something else than its own runs"
    if kept.definition != mart.definition:
        return "its SQL, its key or its option follows has changed"
    return None


def why_not_followed(followed: Followed, kept: Read, reading: FeedReading) -> str | None:
    """Return why the changes of a table do not tell what a mart lacks; None if they do."""
    since = kept.since(followed)
    if since is None and reading.last >= 0:
        return f"{followed.name} has no change feed that it has read before"
    if since is not None and reading.last < 0:
        return f"the change feed of {followed.name} is no longer there"
    return None
