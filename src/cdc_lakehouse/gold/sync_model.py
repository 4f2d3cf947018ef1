"""Compare the columns of one gold model with the tables that it reads, and follow changes."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from cdc_lakehouse.engine.columns import derived_expression, formerly_of
from cdc_lakehouse.gold.add_table import HISTORY_COLUMNS, Gold
from cdc_lakehouse.gold.column_types import column_types, holding_all, wider_type
from cdc_lakehouse.gold.model_edits import (
    GoldColumn,
    changed_sql,
    changed_yaml,
    extended_sql,
    extended_yaml,
)
from cdc_lakehouse.gold.model_sql import comment, gold_names
from cdc_lakehouse.gold.model_yaml import column_yaml, described, meta_yaml, source_words
from cdc_lakehouse.gold.policies import FILE, REPORT, Policies
from cdc_lakehouse.gold.read_models import ReadModel, model_of
from cdc_lakehouse.gold.source_changes import SourceChanges
from cdc_lakehouse.gold.source_tables import SourceTable


@dataclass(frozen=True)
class Finding:
    """A change of a source that a model does not follow, or did not before it was written.

    Attributes:
        kind: add, widen, rename or drop, as the columns of the policies.
        is_wanted: whether the policy has it followed.
        to_do: for a person; None if it was written.
    """

    table: str
    column: str | None
    kind: str
    seen: str
    is_wanted: bool
    to_do: str | None

    def __str__(self) -> str:
        named = f"{self.table}  {self.column}" if self.column else self.table
        return f"{named}  {self.seen}  {self.to_do or ''}".rstrip()


class ModelSync:
    """One model; what it follows is written into its files at once."""

    def __init__(
        self,
        gold: Gold,
        policies: Policies,
        path: Path,
        model: ReadModel,
        read: Sequence[SourceChanges],
        excepted: frozenset[str],
    ):
        """Prepare to change a model.

        Args:
            path: of its SQL.
            read: the tables that it reads.
            excepted: columns that are left out on purpose.
        """
        self._gold, self._path, self._model, self._read = gold, path, model, read
        self._policy = {each.table.names: policies.of(each.table.names) or REPORT for each in read}
        self._yaml = gold.described_in[model.name]
        self._excepted = excepted
        self._columns = _columns_of(model)
        added = HISTORY_COLUMNS if model.is_history else frozenset[str]()
        self._taken = {*model.definitions, *added}
        own = (names for column, names in model.columns.items() if column not in added)
        self._names = {name for names in own for name in names}
        self._names |= {name for column in self._columns for name in column.formerly}
        self._renamed: set[str] = set()

    def findings(self) -> Iterator[Finding]:
        """Change the model where it follows; return what was seen."""
        for changes in self._read:
            for name in (*changes.present, *changes.renamed_and_gone):
                is_read = not self._names.isdisjoint(changes.former.get(name, ()))
                if name not in self._excepted and (is_read or name not in changes.gone):
                    yield from self._of_name(changes, name)
        for number, column in enumerate(self._columns):
            if column.source not in self._excepted:
                yield from self._widened(number, column)
                yield from self._dropped(column)

    def _of_name(self, changes: SourceChanges, name: str) -> Iterator[Finding]:
        """Say of a column that the source has whether the model reads it, and by all its names."""
        former = changes.former.get(name, ())
        lacking = [old for old in former if old not in self._names]
        if name not in self._names and len(lacking) == len(former):
            yield self._new(changes, name)
        elif name not in self._names or lacking:
            yield self._renamed_to(changes, name, former)
        else:
            yield from self._mixed(changes, name, former)

    def _mixed(
        self, changes: SourceChanges, name: str, former: tuple[str, ...]
    ) -> Iterator[Finding]:
        """Name a column that the model reads as two, and two that it reads as one."""
        for column in self._columns:
            names = {column.source, *column.formerly}
            if name not in names and names & {*former}:
                seen = f"is {former[0]} under another name, which another column reads"
                yield self._undecided(changes.table, name, seen)
            elif name in names:
                # Those that are there say so themselves.
                there = {*changes.present} if name == column.source else set[str]()
                others = sorted(
                    each for each in names - there - {name} if changes.are_two(each, name)
                )
                if others:
                    seen = f"is not {', '.join(others)}: rows had both"
                    yield self._undecided(changes.table, name, seen)

    def _renamed_to(self, changes: SourceChanges, name: str, former: tuple[str, ...]) -> Finding:
        """Let the column that reads former names of a column read it by all of its names."""
        self._renamed |= {*former}
        wanted = {name, *former}
        read = [{column.source, *column.formerly} for column in self._columns]
        owners = [number for number, names in enumerate(read) if wanted & names]
        names = wanted.union(*(read[number] for number in owners))
        pairs = combinations(sorted(names), 2)
        again = {each for pair in pairs if changes.are_two(*pair) for each in pair} - {name}
        seen = f"is {former[0]} under another name, by the statement at {changes.place[name]}"
        if again or len(owners) != 1:
            seen += f", and rows had {' and '.join(sorted(again))} beside it" if again else ""
            return self._undecided(changes.table, name, seen)
        before = self._columns[owners[0]]
        formerly = dict.fromkeys(old for old in (*former, *before.formerly) if old != name)
        after = replace(before, source=name, formerly=tuple(formerly))
        return self._changed("rename", changes.table, name, seen, owners[0], after)

    def _undecided(self, table: SourceTable, name: str, seen: str) -> Finding:
        to_do = f"{self._model.file}: decide which column reads which name; sync cannot tell."
        return self._finding(table, name, "rename", seen, to_do)

    def _new(self, changes: SourceChanges, name: str) -> Finding:
        table = changes.joined()
        alike = [c.joined().data_type(name) for c in self._read if name in c.table.columns]
        if name in table.types:
            worded = table.types[name][0]
            table = replace(table, types={**table.types, name: (worded, holding_all(alike))})
        named = gold_names([name], self._taken)[name]
        column = GoldColumn(named, name, table.data_type(name), table.former.get(name, ()))
        self._names |= {name, *column.formerly}
        self._taken.add(named)
        doubts = [old for old in changes.doubtful.get(name, ()) if old in self._names]
        seen = "is new"
        to_do = _lines(self._model.file, column)
        if doubts:
            seen += f" in the change in which {', '.join(doubts)} was gone; no statement says why"
            owners = (c for c in self._columns if doubts[0] in (c.source, *c.formerly))
            for owner in owners:
                formerly = (owner.source, *owner.formerly)
                renamed = replace(owner, source=name, formerly=formerly)
                to_do += f" Or, if it is {doubts[0]} renamed: {_lines(self._model.file, renamed)}"
        elif self._policy[table.names].follows("add") and self._extended(table, column):
            self._columns.append(column)
            return self._finding(table, name, "add", seen, None)
        return self._finding(table, name, "add", seen, to_do)

    def _extended(self, table: SourceTable, column: GoldColumn) -> bool:
        sql = extended_sql(
            self._text(self._path), self._columns, column, comment(table, column.source)
        )
        if sql is None:
            return False
        line = column_yaml(table, column.source, column.name)
        said = extended_yaml(self._text(self._yaml), self._model.name, sql[1], line)
        return self._written(sql[0], said, column)

    def _widened(self, number: int, column: GoldColumn) -> Iterator[Finding]:
        """Say whether a type of the source has changed to one that the column does not hold."""
        names = (column.source, *column.formerly)
        types: dict[tuple[object, ...], set[str]] = defaultdict(set)
        tables: dict[tuple[object, ...], SourceTable] = {}
        for changes in self._read:
            table = changes.table
            for each in table.worded:
                held = column_types([each], table.schema is not None).get(each.column)
                if each.column in names and held:
                    # Numbers of types and their words are not compared: they say more or less.
                    group = (str(table), each.format, each.source_type, each.type.isdecimal())
                    types[group].add(held[1])
                    tables[group] = table
        retyped = [tables[group] for group, seen in types.items() if len(seen) > 1]
        wider = wider_type(column.data_type, set().union(*types.values())) if retyped else None
        if wider:
            table = retyped[0]
            seen = f"is {table.types[column.source][0]}, which {column.data_type} does not hold"
            after = replace(column, data_type=wider)
            yield self._changed("widen", table, column.source, seen, number, after)

    def _dropped(self, column: GoldColumn) -> Iterator[Finding]:
        name = column.source
        having = [each for each in self._read if name in each.table.columns]
        is_gone = all(name in each.gone and name not in each.pending for each in having)
        if not having or not is_gone or name in self._renamed:
            return
        table = having[0].table
        if not self._policy[table.names].follows("drop"):
            to_do = (
                f"{self._model.file} keeps its last values in {column.name}: say drop=keep in "
                f"{FILE}, or take it out of both files."
            )
            yield self._finding(table, name, "drop", "is gone", to_do)

    def _changed(
        self, kind: str, table: SourceTable, name: str, seen: str, number: int, after: GoldColumn
    ) -> Finding:
        """Write a column as it is to be if the policy wants it; say so, or how to write it."""
        before = self._columns[number]
        to_do: str | None = _lines(self._model.file, after)
        if self._policy[table.names].follows(kind):
            words = source_words(table, after.source)
            said = changed_yaml(self._text(self._yaml), self._model.name, before, after, words)
            sql = changed_sql(self._text(self._path), before, after)
            if self._written(sql, said, after):
                self._columns[number], to_do = after, None
                self._names |= {after.source, *after.formerly}
        return self._finding(table, name, kind, seen, to_do)

    def _written(self, sql: str | None, said: str | None, column: GoldColumn) -> bool:
        """Write both files if the model then reads what it has to, and else what it read."""
        if sql is None or said is None:
            return False
        entry = described(self._yaml, said)[self._model.name]
        model = model_of(self._model.name, self._model.file, sql, entry)
        read = {name: set(names) for name, names in model.columns.items()}
        others = {name: set(names) for name, names in self._model.columns.items()}
        names = read.pop(column.name, set())
        others.pop(column.name, None)
        if read != others or not {column.source} <= names <= {column.source, *column.formerly}:
            return False
        self._gold.files.write(self._path, sql)
        self._gold.files.write(self._yaml, said)
        self._model = model
        return True

    def _text(self, path: Path) -> str:
        return self._gold.files.text(path) or ""

    def _finding(
        self, table: SourceTable, name: str, kind: str, seen: str, to_do: str | None
    ) -> Finding:
        is_wanted = self._policy[table.names].follows(kind)
        return Finding(str(table), name, kind, seen, is_wanted, to_do)


def _columns_of(model: ReadModel) -> list[GoldColumn]:
    """Return the columns of a model that are made from one column of the source."""
    found = []
    for name, definition in model.definitions.items():
        formerly = formerly_of(definition)
        sources = [source for source in model.columns[name] if source not in formerly]
        is_added = model.is_history and name in HISTORY_COLUMNS
        if len(sources) == 1 and not is_added and derived_expression(definition) is None:
            data_type = str(definition.get("data_type", ""))
            found.append(GoldColumn(name, sources[0], data_type, formerly))
    return found


def _lines(file: str, column: GoldColumn) -> str:
    """Return what a person writes for a column."""
    meta = f", {meta_yaml(column.meta)}" if column.meta else ""
    return f"{file}: write `{column.sql.strip()}`, in its YAML data_type {column.data_type}{meta}."
