"""The SQL for changes that carry only some columns: it looks at each column of a row by itself.

`_column_sequences` has the columns of a row whose value was written before the row's last change,
each with the place in the source's order at which it was written. That change wrote all other
columns.
"""

from collections.abc import Callable
from dataclasses import dataclass

from cdc_lakehouse.engine.columns import (
    IS_BEGUN_ELSEWHERE,
    KEPT_COLUMNS,
    NO_PROBLEMS,
    Column,
    listed,
    names,
)
from cdc_lakehouse.engine.order import order_key, order_within_a_place

Say = Callable[[Column], str]

# Columns with a rule of their own when a row is put together from columns.
TOGETHER = ("_problems", "_column_sequences")


def problems_of(problems: str, column: Column) -> str:
    """Those problems of a row that are of one column."""
    return f"filter({problems}, problem -> problem.column = {column.literal})"


def sequence_of(row: str, name: str) -> str:
    """The place in the source's order at which a column, named by SQL, was written last."""
    return f"coalesce({row}._column_sequences[{name}], {row}._sequence)"


def older_than(sequence: str, written: str) -> str:
    """The columns written before the row's last change, with their places; null if there are none.

    Spark has no equality for maps, with which an empty one would be null.
    """
    older = f"map_filter({written}, (name, written) -> written < {sequence})"
    return f"get(filter(array({older}), older -> size(older) > 0), 0)"


@dataclass(frozen=True)
class PartialRows:
    """The parts of a gold table's rows.

    Attributes:
        columns: those of a change, with what the merge keeps of it.
        values: those outside the key.
    """

    columns: tuple[Column, ...]
    values: tuple[Column, ...]

    def _problems(self, say: Say) -> str:
        """The problems of a row from those of its values."""
        return f"flatten(array(\n    {', '.join([NO_PROBLEMS, *map(say, self.values)])}\n))"

    def _older(self, sequence: str, say: Say) -> str:
        """The columns that were written before the row's last change; null if there are none."""
        entries = ", ".join(f"{c.literal}, {say(c)}" for c in self.values)
        return older_than(sequence, f"cast(map({entries}) as map<string, string>)")

    def _row(self, value: Say, other: Say) -> str:
        """The columns of a row, without those that are put together."""
        values = set(self.values)
        columns = [c for c in self.columns if c.name not in TOGETHER]
        return listed(columns, lambda c: f"{(value if c in values else other)(c)} as {c.sql}")

    # The rows that a view shows. What is gone is named there: a late change of a column can still
    # become the value that the row keeps.

    @property
    def _of_change(self) -> list[Column]:
        return [column for column in self.columns if not column.is_value]

    @property
    def names_of_change(self) -> str:
        """The stored columns of a row besides its values."""
        return names(self._of_change)

    @property
    def shown_change(self) -> str:
        """The columns that a row shows besides its values."""
        kept = KEPT_COLUMNS["history"]
        return listed([c for c in self._of_change if c.name not in kept], self.shown)

    def shown(self, column: Column) -> str:
        """A column of a row as a view shows it: its problems with the columns that are gone.

        Of those the row keeps a value, and its last image, which has all columns of the source,
        does not have them. To list what is not null as JSON takes the least text: the metastore
        refuses that of a view which looks at each column of a wide table.
        """
        if column.name != "_problems" or not self.values:
            return column.sql
        row = f"to_json(struct({names(self.values)}), map('ignoreNullFields', 'true'))"
        older = "map_keys(_column_sequences)"
        # If a value is too long for JSON, no column counts as gone.
        kept = f"coalesce(array_intersect({older}, json_object_keys({row})), {older})"
        gone = "named_struct('column', name, 'code', 'column_gone', 'text', cast(null as string))"
        named = f"concat(_problems, transform({kept}, name -> {gone}))"
        return f"if(_is_whole and _column_sequences is not null, {named}, _problems) as _problems"

    # Rows whose key changes come as a delete and an insert.

    @property
    def is_begun_elsewhere(self) -> str:
        """Whether a change is an insert of a row that had another key before, and lacks columns."""
        return IS_BEGUN_ELSEWHERE

    @property
    def place_of_key_change(self) -> str:
        """The place of a delete, or of an insert that lacks columns, that may be of one key change.

        Debezium tells a key change in these two messages. They share the place of one change in the
        log of the source; the hash of the message's key stands behind it. A number of a delivery,
        which stands there in other sequences, begins with zeros.
        """
        is_of_pair = f"(_operation = 'delete' and not _is_replaced) or {IS_BEGUN_ELSEWHERE}"
        place = r"regexp_extract(_sequence, r'^(.*)[.](?!0000000)[0-9]{20}$', 1)"
        return f"if({is_of_pair}, nullif({place}, ''), null)"

    @property
    def order(self) -> str:
        """The order of the changes of a row."""
        return order_key()

    @property
    def comes_after(self) -> str:
        """Whether of two different changes at one place the changed row was delivered last.

        A copy of a change, which has the same content, does not.
        """
        return (
            "changed._sequence = stored._sequence and changed._fingerprint <> stored._fingerprint"
            f" and {order_within_a_place('changed.')} > {order_within_a_place('stored.')}"
        )

    @property
    def latest_values(self) -> str:
        """Each value of a key as its last change wrote it, with its problems and its place."""

        def latest(column: Column) -> str:
            sequence = sequence_of("changed", column.literal)
            return (
                f"max_by(struct({column.sql} as value,"
                f" {problems_of('changed._problems', column)} as problems, {sequence} as sequence),"
                f" {order_key(sequence)}) as {column.sql}"
            )

        return "".join(f"{latest(column)},\n    " for column in self.values)

    @property
    def latest_row(self) -> str:
        """The row of the last change, `_row`, with the last of each value."""
        values = self._row(lambda c: f"{c.sql}.value", lambda c: f"_row.{c.sql}")
        problems = self._problems(lambda c: f"{c.sql}.problems")
        older = self._older("_row._sequence", lambda c: f"{c.sql}.sequence")
        return f"{values},\n    {problems} as _problems,\n    {older} as _column_sequences"

    @property
    def earlier_values(self) -> str:
        """The row of each change, its values as the last change that carries them left them."""

        def earlier(column: Column) -> str:
            said = (
                f"struct({column.sql} as value, {problems_of('_problems', column)} as problems,"
                " _sequence as sequence)"
            )
            is_carried = f"_column_sequences[{column.literal}] is null"
            return f"last(if({is_carried}, {said}, null), true) over history_so_far as {column.sql}"

        values = set(self.values)
        return listed(self.columns, lambda c: earlier(c) if c in values else c.sql)

    @property
    def completed_row(self) -> str:
        """The row of a change with its `earlier_values`."""
        row = self._row(lambda c: f"{c.sql}.value", lambda c: c.sql)
        problems = self._problems(lambda c: f"coalesce({c.sql}.problems, array())")
        older = self._older("_sequence", lambda c: f"coalesce({c.sql}.sequence, '')")
        return f"{row},\n    {problems} as _problems,\n    {older} as _column_sequences"

    @property
    def of_values(self) -> str:
        """The names of the columns outside the key, as a list."""
        return (
            f"cast(array({', '.join(column.literal for column in self.values)}) as array<string>)"
        )

    @property
    def of_row(self) -> list[Column]:
        """The columns of a row beside its values and what is put together of these."""
        return [c for c in self.columns if not c.is_value and c.name not in TOGETHER]

    @property
    def kept_values(self) -> str:
        """The values that rows keep under new keys, from the changes that wrote them."""

        def kept(column: Column) -> str:
            unknown = (
                f"array(named_struct('column', {column.literal}, 'code', 'not_carried',"
                " 'text', cast(null as string)))"
            )
            problems = problems_of("_problems", column)
            said = (
                f"struct({column.sql} as value,"
                f" if(_said_by_key is null, {unknown}, {problems}) as problems)"
            )
            is_kept = f"array_contains(_columns, {column.literal})"
            return f"any_value(if({is_kept}, {said}, null), true) as {column.sql}"

        return "".join(f"{kept(column)},\n    " for column in self.values)

    @property
    def followed_row(self) -> str:
        """The row of a change; under a new key with the columns that it keeps."""

        def is_kept(column: Column) -> str:
            names = "map_keys(_column_sequences)"
            return f"_former_key is not null and array_contains({names}, {column.literal})"

        def problems(column: Column) -> str:
            kept = f"coalesce(kept.{column.sql}.problems, array())"
            return f"if({is_kept(column)}, {kept}, {problems_of('changes._problems', column)})"

        row = self._row(
            lambda c: f"if({is_kept(c)}, kept.{c.sql}.value, changes.{c.sql})",
            lambda c: f"changes.{c.sql}",
        )
        named = f"{self._problems(problems)} as _problems"
        older = "if(_former_key is null, _column_sequences, null) as _column_sequences"
        return f"{row},\n    {named},\n    {older}"
