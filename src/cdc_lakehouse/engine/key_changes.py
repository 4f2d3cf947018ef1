"""Follow rows through primary-key changes that lack columns or collide.

Silver has two rows for a primary-key change: the row of the old key is gone, and there is a row of
the new key with the columns that the update carries. Debezium sends them as a delete and an insert.
If the update does not carry all columns, the others keep the values of the row at the old key. This
module finds, key by key and in the order of the source, which change wrote those values last; SQL
then takes them from that change. If rows of one statement swap keys, the change that removes a row
may come when another row already has its key.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from itertools import groupby
from typing import Any

from cdc_lakehouse.engine.gold_model import GoldModel

Key = str
TRUNCATE, DROP, EXTRACT, DELETE = "truncate", "drop", "extract", "delete"


@dataclass(frozen=True)
class Change:
    """One image of a change of a key's row; or the removal of all rows of a table.

    `not_carried` are the columns that it leaves as they are. `former_key` is the old key of a row
    whose key changes; if it is not known, a key that no row has. `pair` is the place of a delete
    and an insert that are one key change. `delivery` (partition, offset, row number) decides within
    one sequence; `committed_at` is in microseconds.
    """

    key: Key
    sequence: str
    fingerprint: int
    operation: str
    is_replaced: bool = False
    delivery: tuple[int, int, int] = (0, 0, 0)
    not_carried: frozenset[str] = frozenset()
    former_key: Key | None = None
    pair: str | None = None
    source_table: str | None = None
    committed_at: int | None = None

    @property
    def moment(self) -> str:
        """The place in the source's order that it shares with the other row of its key change."""
        return self.pair or self.sequence

    @property
    def place(self) -> tuple[Any, ...]:
        """Where it stands: within one sequence the row before comes first, a TRUNCATE last."""
        is_on_table = self.operation in (TRUNCATE, DROP, EXTRACT)
        return self.moment, is_on_table, not self.is_replaced, self.delivery


@dataclass(frozen=True)
class Kept:
    """Columns that a row keeps under its new key; the change that wrote them, if one is known."""

    change: Change
    said_by: Change | None
    columns: tuple[str, ...]


@dataclass
class Followed:
    """The result of following rows through their keys.

    Attributes:
        kept: for each row under a new key, the changes that wrote the columns that its own change
            lacks. A column that no change of the old key wrote is in none: it stays null.
        void: removed rows that remove nothing, as the key had another row by then.
    """

    kept: list[Kept] = field(default_factory=list)
    void: list[Change] = field(default_factory=list)


def change_of(record: dict[str, Any]) -> Change:
    """Return the change that a record of its fields says."""
    not_carried = frozenset(record["not_carried"] or ())
    delivery = tuple(record["delivery"])
    return Change(**record | {"not_carried": not_carried, "delivery": delivery})


# The records of the changes in the view changes_of_followed_keys.
QUERY_OF_CHANGES = """
    select
        _key as key,
        _sequence as sequence,
        _fingerprint as fingerprint,
        _operation as operation,
        _is_replaced or (_operation = 'delete' and _pair is not null) as is_replaced,
        struct(_partition, _offset, _row_number) as delivery,
        map_keys(_column_sequences) as not_carried,
        _former_key as former_key,
        _pair as pair,
        _source_table as source_table,
        unix_micros(_committed_at) as committed_at
    from changes_of_followed_keys"""


def query_of_key_changes(model: GoldModel) -> str:
    """The old and the new key of each key change in all_changes that is to be followed.

    Where the old key is not known, the place at which a delete may tell it stands beside them.
    """
    old, new = model.key.text("_removed_key."), model.key.text()
    is_followed = f"{model.is_under_new_key_in_part} or (_collides and {model.is_under_new_key})"
    return (
        f"select distinct if(_removed_key is null, {new}, {old}), {new},"
        f" if(_removed_key is null, _place, null) from all_changes where {is_followed}"
    )


def query_of_followed_keys(model: GoldModel) -> str:
    """The keys of the view new_changes that are in followed_keys; null stands for all keys."""
    key = f"if(_truncated_table is null, {model.key.text()}, null)"
    return (
        f"select key from (select distinct {key} as key from new_changes)"
        " where key is null or key in (select _key from followed_keys)"
    )


IDENTITY = {"key": "string", "sequence": "string", "fingerprint": "bigint"}


def identity(change: Change | None) -> tuple[Key | None, str | None, int | None]:
    """Return what tells a change from all others, as `IDENTITY` names it; nothing of none."""
    return (change.key, change.sequence, change.fingerprint) if change else (None, None, None)


class _Unknown(Enum):
    """The column of a row whose old key had no row."""

    UNKNOWN = 0


UNKNOWN = _Unknown.UNKNOWN
# A column that no change has said has no entry.
Cells = dict[str, Change | _Unknown]


@dataclass
class _Row:
    """The row of a key; `is_certain` unless a TRUNCATE that gold ignores has removed it."""

    cells: Cells = field(default_factory=dict)
    is_there: bool = False
    is_certain: bool = False
    source_table: str | None = None


def connected(pairs: Iterable[tuple[Key, Key]]) -> dict[Key, Key]:
    """Return for each key one key that stands for all keys that the pairs connect with it."""
    parents: dict[Key, Key] = {}

    def root(key: Key) -> Key:
        while parents.setdefault(key, key) != key:
            parents[key] = key = parents[parents[key]]
        return key

    for one, other in pairs:
        parents[root(one)] = root(other)
    return {key: root(key) for key in list(parents)}


MARK = 16  # characters; two keys of one mark cost a look at silver
MARKED_KEYS = 5_000


def marks_of(keys: Iterable[Key]) -> str:
    """Return the marks of keys that key changes connect, as a table keeps them: `some` for many.

    By these marks a run knows whether it changes such a key, without looking for it in silver.
    """
    marks = sorted({hashlib.md5(key.encode()).hexdigest()[:MARK] for key in keys})
    return " ".join(marks) if len(marks) <= MARKED_KEYS else "some"


def is_marked(key: str, marks: str) -> str:
    """Return the condition that the SQL expression `key` gives a key of one of these marks."""
    listed = ", ".join(f"'{mark}'" for mark in marks.split())
    return f"left(md5({key}), {MARK}) in ({listed})"


def follow(
    changes: Iterable[Change], columns: Iterable[str], removing: Iterable[str] = (TRUNCATE,)
) -> Followed:
    """Follow rows through the changes of their keys.

    Args:
        changes: all changes of the keys that key changes connect, each once, in any order.
        columns: the columns that are not of the key.
        removing: the operations on a table that remove its rows: `truncate`, `drop`, `extract`.
    """
    rows = _Rows(tuple(columns), frozenset(removing))
    in_order = sorted(changes, key=lambda change: change.place)
    for _, group in groupby(in_order, key=lambda change: change.moment):
        rows.apply(list(group))
    return rows.followed


class _Rows:
    """The rows of all keys, while changes are applied to them in the order of the source.

    Oracle and others check keys when a statement ends, so two rows of one statement can change
    places, or each take the key of the next: a row then takes a key whose own row has yet to
    leave. That one is kept in `displaced`, with the time of the commit, for its own key change.
    """

    def __init__(self, columns: tuple[str, ...], removing: frozenset[str]):
        self.columns, self.removing = columns, removing
        self.rows: dict[Key, _Row] = {}
        self.displaced: dict[Key, tuple[int | None, _Row]] = {}
        self.followed = Followed()

    def apply(self, changes: list[Change]) -> None:
        """Apply the changes of one sequence, most often the before/after pair of one update."""
        left = {change.former_key for change in changes if change.former_key is not None}
        taken: dict[Key, _Row] = {}
        for change in changes:
            committed_at, displaced = self.displaced.pop(change.key, (None, None))
            if change.operation in (TRUNCATE, DROP, EXTRACT):
                self._empty(change)
            elif not change.is_replaced:
                self._put(change, taken)
            elif displaced and change.key in left and committed_at == change.committed_at:
                taken[change.key] = displaced
                self.followed.void.append(change)
            else:
                taken[change.key] = self.rows.get(change.key, _Row())
                self._put(change, taken)

    def _empty(self, change: Change) -> None:
        for row in self.rows.values():
            if row.source_table == change.source_table:
                row.is_certain = False
                row.is_there &= change.operation not in self.removing
        self.displaced.clear()

    def _put(self, change: Change, taken: dict[Key, _Row]) -> None:
        row = self.rows.get(change.key, _Row())
        earlier = row.cells
        if change.former_key is not None:
            old = taken.get(change.former_key) or self.rows.get(change.former_key, _Row())
            earlier = old.cells if old.is_there else dict.fromkeys(self.columns, UNKNOWN)
            self._keep(change, earlier)
        if change.former_key is not None and row.is_there and row.is_certain:
            self.displaced[change.key] = (change.committed_at, row)
        is_there = change.operation != DELETE
        cells: Cells = {name: change for name in self.columns if name not in change.not_carried}
        cells |= {name: said for name, said in earlier.items() if name in change.not_carried}
        self.rows[change.key] = _Row(cells, is_there, is_there, change.source_table)

    def _keep(self, change: Change, earlier: Cells) -> None:
        by_change: dict[Change | _Unknown, list[str]] = {}
        for name in sorted(change.not_carried & earlier.keys()):
            by_change.setdefault(earlier[name], []).append(name)
        for said_by, names in by_change.items():
            known = None if said_by is UNKNOWN else said_by
            self.followed.kept.append(Kept(change, known, tuple(names)))
