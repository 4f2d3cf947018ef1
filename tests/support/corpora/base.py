"""A corpus: one table with a column of each type that a producer has, and what it writes of it.

A corpus is a report of tests/silver/public_reports that is made, not kept: the messages of a short
history of one table, and what silver and gold have to hold. A cell is a value as it stands in the
message, a token of JSON, and the text that silver holds of it; one that is held as it was sent is
written once.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

NULL = ("null", None)


@dataclass(frozen=True)
class Column:
    """A column: its type as the producer words it, and the cells of two rows."""

    name: str
    type: str
    cells: tuple[tuple[str, str | None], ...]


def column(name, type_of, *cells):
    """A column whose cells are tokens, or a token and the text that is held of it."""
    return Column(name, type_of, tuple(map(cell, cells)))


def cell(sent):
    return sent if isinstance(sent, tuple) else (sent, held_as_sent(sent))


def held_as_sent(token):
    if token == "null":
        return None
    return json.loads(token) if token.startswith('"') else token


def text(characters, held=None):
    """The cell of a text, or of a value that is written as one."""
    return json.dumps(characters), characters if held is None else held


def latin(hexadecimal):
    """The cell of bytes that are written as ISO-8859-1 text."""
    return text(bytes.fromhex(hexadecimal).decode("latin-1"), hexadecimal)


def tokens(members):
    """A JSON object of names and tokens."""
    return "{" + ",".join(f"{json.dumps(name)}:{token}" for name, token in members.items()) + "}"


@dataclass(frozen=True)
class Row:
    """One row: the token and the held text of each of its columns."""

    cells: dict[str, tuple[str, str | None]]

    @property
    def sent(self):
        return tokens({name: token for name, (token, _) in self.cells.items()})

    @property
    def held(self):
        return {name: held for name, (_, held) in self.cells.items()}

    def without_nulls(self):
        return Row({name: cell for name, cell in self.cells.items() if cell != NULL})

    def only(self, names):
        return Row({name: self.cells[name] for name in names})


@dataclass(frozen=True)
class Change:
    """A change of the table: its operation, and the rows before and after it."""

    operation: str
    before: Row | None = None
    after: Row | None = None


@dataclass(frozen=True)
class Corpus:
    """What a producer writes.

    Attributes:
        message: the text of a change, by its number.
        full_load: the operation of the rows of the full load.
        before, after: the images that silver holds of a change.
        further: messages beside those of rows, each with the rows of silver that it becomes.
        in_gold: what gold holds of the last row of each key; None where gold is not looked at.
    """

    name: str
    producer: str
    route: str
    columns: Sequence[Column]
    message: Callable[[int, Change], str]
    full_load: str = "insert"
    key: str = '"{}"'
    before: Callable[[Change], dict | None] = lambda change: change.before and change.before.held
    after: Callable[[Change], dict | None] = lambda change: change.after and change.after.held
    further: Sequence[tuple[str, list[dict]]] = ()
    gold: dict | None = None
    says: dict = field(default_factory=dict)

    def row(self, number, cells):
        key = self.key.format(number)
        return Row({"id": (key, held_as_sent(key))} | cells)

    def changes(self):
        """Rows of the full load, changes of every kind, nulls in every column, and a delete."""
        first, second = ({c.name: c.cells[place] for c in self.columns} for place in (0, -1))
        nothing = {c.name: NULL for c in self.columns}
        yield Change(self.full_load, None, self.row(1, first))
        yield Change(self.full_load, None, self.row(2, nothing))
        yield Change("insert", None, self.row(3, second))
        yield Change("update", self.row(1, first), self.row(1, second))
        yield Change("update", self.row(3, second), self.row(3, nothing))
        yield Change("update", self.row(2, nothing), self.row(2, first))
        yield Change("delete", self.row(2, first), None)

    def report(self):
        """The corpus in the form of a file of tests/silver/public_reports."""
        lines, expected = [], []
        for number, change in enumerate(self.changes()):
            lines.append(self.message(number, change))
            expected.append([self.expected(change)])
        for line, rows in self.further:
            lines.append(line)
            expected.append(rows)
        report = {
            "name": self.name,
            "trait": "every type, of a full load and of changes",
            "reported": self.producer,
            "route": self.route,
            "file": "".join(f"{line}\n" for line in lines),
            "expected": expected,
        }
        return report | ({"gold": self.gold} if self.gold else {})

    def expected(self, change):
        return {
            "kind": "row_change",
            "operation": change.operation,
            "before": self.before(change),
            "after": self.after(change),
            **self.says,
        }
