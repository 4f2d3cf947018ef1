"""A gold model: what its files say, and the SQL made from its columns, its key and its options."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cdc_lakehouse.engine import projection
from cdc_lakehouse.engine.columns import (
    CHANGE_COLUMNS,
    IS_BEGUN_ELSEWHERE,
    KEPT_COLUMNS,
    KNOWN_AT,
    NO_PROBLEMS,
    VERSION_COLUMNS,
    Column,
    Key,
    listed,
    names,
)
from cdc_lakehouse.engine.gold_options import GoldOptions
from cdc_lakehouse.engine.partial_rows import PartialRows
from cdc_lakehouse.engine.rules import NO_RULES, RowRules
from cdc_lakehouse.engine.source_tables import SourceTable, tables_read
from cdc_lakehouse.engine.typed_values import TypedValues, problems_of_values
from cdc_lakehouse.sql import quoted


@dataclass(frozen=True)
class GoldModel:
    """A gold model.

    Attributes:
        name, kind, sql: its name, its materialization and its query.
        key_names: the columns of its key, in the order of its YAML.
        columns: those that a change fills; `stored` are all of the stored table.
        protected: the lines of seeds/protected_columns.csv that can be of its source tables.
        row_rules: rules and derived columns, which views apply. The stored table needs neither.
        source_names: those that its row_images() is given; it may name its tables otherwise.
    """

    name: str
    kind: str
    sql: str
    key_names: tuple[str, ...]
    options: GoldOptions
    columns: tuple[Column, ...]
    stored: tuple[Column, ...]
    protected: tuple[str, ...] = ()
    row_rules: RowRules = NO_RULES
    source_names: tuple[str, ...] = ()

    @property
    def definition(self) -> str:
        """A name for all that decides what the table holds.

        Comments and white space in the SQL do not, nor does the arrangement of its files.
        """
        lines = [line for line in self.sql.splitlines() if not line.strip().startswith("--")]
        words = [word for line in lines for word in line.split()]
        sources = [quoted(c.source) + (" inferred" if c.is_inferred else "") for c in self.columns]
        options = {**self.options.values, "cluster_by": []}
        said = [words, list(self.key_names), options, sources, *self.protected]
        return hashlib.md5(json.dumps(said).encode()).hexdigest()

    @property
    def is_history(self) -> bool:
        """Whether it shows every version of a row."""
        return self.kind == "history"

    # What it reads.

    @cached_property
    def reads_table(self) -> Callable[[SourceTable], bool]:
        """Tells whether the model can read a table of the source."""
        return tables_read(self.sql)

    @cached_property
    def _read_columns(self) -> Mapping[str, Sequence[str]]:
        """The columns of the source that each value is made from.

        One that cannot be traced through the model's SQL is taken to be that of its name.
        """
        traced = projection.columns_read(self.sql)
        return {c.name: traced.get(c.name, [c.source]) for c in self.columns if c.is_value}

    @property
    def made_of_several(self) -> dict[str, Sequence[str]]:
        """The columns that its query makes from several columns of the source, and these."""
        return {name: found for name, found in self._read_columns.items() if len(found) > 1}

    # Its columns.

    @cached_property
    def key(self) -> Key:
        """The columns of its key."""
        by_name = {column.name: column for column in self.columns}
        of_key = tuple(column for column in self.columns if column.name in self.key_names)
        return Key(of_key, tuple(by_name[name] for name in self.key_names))

    @cached_property
    def values(self) -> tuple[Column, ...]:
        """The columns that are neither of the key nor of the change."""
        return tuple(c for c in self.columns if c.is_value and c.name not in self.key_names)

    @property
    def parts(self) -> PartialRows:
        """Its rows, to be looked at column by column."""
        return PartialRows((*self.columns, *self._kept), self.values)

    @property
    def _kept(self) -> list[Column]:
        return [column for column in self.stored if column.name in KEPT_COLUMNS[self.kind]]

    @property
    def shown_names(self) -> str:
        """The columns that a history shows."""
        return ", ".join(map(self.parts.shown, self._shown))

    @property
    def _shown(self) -> list[Column]:
        return [c for c in self.stored if c.name not in {"_is_version", *KEPT_COLUMNS[self.kind]}]

    @property
    def complete_names(self) -> str:
        """The same for the last change of each key before a moment: it is current there."""
        then = {"valid_to": "cast(null as timestamp) as ", "is_current": "true as "}
        return ", ".join(then.get(c.name, "") + self.parts.shown(c) for c in self._shown)

    @property
    def unmerged_names(self) -> str:
        """The columns of its query that only the merge reads."""
        return "_image, _is_whole, _is_replaced" + (f", {KNOWN_AT}" if self.is_history else "")

    @property
    def stored_names(self) -> str:
        """All columns of the stored table."""
        return names(self.stored)

    @property
    def change_names(self) -> str:
        """Its columns without those that a history works out from other changes."""
        return names(c for c in self.stored if c.name not in VERSION_COLUMNS)

    @property
    def contract(self) -> dict[str, Mapping[str, Any]]:
        """The columns as dbt compares them with the model's query."""
        return {column.name: column.definition for column in self.columns}

    # Its changes with their values typed.

    @property
    def is_kept(self) -> str:
        """Whether a change leaves a row with values; empty if each does, as where deletes show."""
        return "" if self.options.shows_deleted else "_operation <> 'delete'"

    @property
    def no_problems(self) -> str:
        """A list of no problem."""
        return NO_PROBLEMS

    @cached_property
    def typing(self) -> TypedValues:
        """Which of its values fit their types."""
        return TypedValues(self._own_values, self._read_columns)

    @property
    def typed_values(self) -> str:
        """The values that fit."""
        return self.typing.fitting(self.key_names, self.is_kept)

    @property
    def problems(self) -> str:
        """The problems of the values that do not fit."""
        return problems_of_values(self.is_kept)

    @property
    def change(self) -> str:
        """The columns of a row that describe its change, without its problems."""
        return listed(self._of_change, lambda column: column.name)

    @property
    def _of_change(self) -> list[Column]:
        return [c for c in self.columns if not c.is_value and c.name != "_problems"]

    @property
    def _own_values(self) -> list[Column]:
        return [column for column in self.columns if column.is_value]

    @property
    def is_partial(self) -> str:
        """Whether a change leaves columns as they were, because its image does not carry them.

        An update can, whatever its format says of its images; so can the row that an update
        removes, and a delete whose row stays shown. Columns that an insert does not carry are null:
        it begins a row. But an insert that is known to lack columns continues a row that had
        another key.
        """
        operations = "'update', 'delete'" if self.options.shows_deleted else "'update'"
        carries_all = projection.carries_all(self._read_columns)
        of_rows = f"_is_replaced or _operation in ({operations})"
        begun = "(_operation = 'insert' and _is_whole <=> false)"
        return f"({of_rows} or {begun}) and not ({carries_all})"

    @property
    def columns_not_carried(self) -> str:
        """The columns outside the key that an image does not carry."""
        return projection.columns_not_carried(self._read_columns, [c.name for c in self.values])

    @property
    def is_before_of_its_row(self) -> str:
        """Whether a change is the row before an update that keeps its key."""
        return f"(_operation = 'delete' and _new_key <=> {self.key.as_one})"

    @property
    def columns_left_alone(self) -> str:
        """The columns that a change leaves as they are.

        A row that another one replaces leaves none, unless it stays shown.
        """
        if self.options.shows_deleted:
            return "_column_sequences"
        return "if(_is_replaced and _new_key is not null, null, _column_sequences)"

    # Rows whose key changes, among changes with the old and the new key of each.

    @property
    def is_under_new_key(self) -> str:
        """Whether a change is a row under a new key."""
        return (
            "(_operation not in ('delete', 'truncate', 'drop', 'extract') and "
            f"{self.key.is_known} and ({IS_BEGUN_ELSEWHERE} or _removed_key is not null"
            f" and not _removed_key <=> {self.key.as_one}))"
        )

    @property
    def is_under_new_key_in_part(self) -> str:
        """Whether a change is a row under a new key whose image lacks columns."""
        return f"_column_sequences is not null and {self.is_under_new_key}"

    @property
    def is_removed(self) -> str:
        """Whether a change is the row that a primary-key change removes."""
        return f"(_is_replaced and _operation = 'delete' and not {self.is_before_of_its_row})"

    # Markers of a TRUNCATE or DROP.

    @property
    def is_removing(self) -> str:
        """Whether a stored row is a marker that removes the older rows of its source table."""
        operations = ", ".join(map(quoted, self.options.removing))
        return f"_truncated_table is not null and _operation in ({operations or 'null'})"

    @property
    def marker(self) -> str:
        """The columns of a marker of a DROP that the statement does not fill, as nulls."""
        return "".join(f"cast(null as {c.data_type}) as {c.sql},\n    " for c in self._own_values)

    @property
    def change_of_marker(self) -> str:
        """The columns of a marker about its statement; null for columns that only a model knows."""
        return ",\n    ".join(
            c.name if c.name in CHANGE_COLUMNS else f"cast(null as {c.data_type}) as {c.sql}"
            for c in self._of_change
        )

    def content(self, row: str) -> str:
        """The content of a stored row, without what differs between duplicates of a change."""
        own = [f"{row}{name}" for name in ("_sequence", "_operation", "_fingerprint", "_problems")]
        own.append(f"map_entries({row}_column_sequences)")
        return f"struct({', '.join([*own, *(c.comparable(row) for c in self.values)])})"

    @property
    def tracked(self) -> str:
        """The values in which two versions differ: the tracked columns, and their problems."""
        wanted = self.options.values.get("track_columns") or [c.name for c in self.values]
        tracked = [column for column in self.columns if column.name in wanted]
        literals = ", ".join(column.literal for column in tracked)
        is_tracked = f"array_contains(cast(array({literals}) as array<string>), problem.column)"
        problems = f"filter(_problems, problem -> {is_tracked})"
        return f"struct({', '.join([problems, *(c.comparable() for c in tracked)])})"

    def derived(self, is_partial: bool) -> str:
        """The columns of a stored change that depend on other changes of its key."""
        values = [column.comparable() for column in self.values]
        partial = ["map_entries(_column_sequences)", "_problems", *values] if is_partial else []
        return f"struct({', '.join([*VERSION_COLUMNS, *partial])})"

    def row_with(self, operation: str, row: str = "") -> str:
        """The stored columns of a row, with another operation and without times of a history."""

        def said(column: Column) -> str:
            if column.name in VERSION_COLUMNS:
                return f"cast(null as {column.data_type}) as {column.sql}"
            value = operation if column.name == "_operation" else row + column.sql
            return f"{value} as {column.sql}"

        return listed(self.stored, said)
