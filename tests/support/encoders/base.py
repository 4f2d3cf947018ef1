"""What all writers of formats share: canonical texts, JSON with exact numbers, gold's columns."""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

import json
import struct
from dataclasses import dataclass
from decimal import Decimal

ROW_KINDS = ("snapshot", "insert", "update", "delete")
BINARY = ("varbinary", "blob")
BASE64 = "try_to_binary({}, 'base64')"
SCHEMA_CHANGE, TRUNCATE, HEARTBEAT = "schema_change", "truncate", "heartbeat"
BEGIN, END = "transaction_begin", "transaction_end"


@dataclass(frozen=True)
class Change:
    """A row change as silver.row_changes has to show it."""

    table: str
    operation: str
    before: dict | None
    after: dict | None
    key_columns: list | None


class Encoder:
    """A format. `encode` writes an event, `changes` says what silver must make of it.

    `cannot_say` names what the format has no place for, with the reason; `carried` is a value
    without what the format drops of it, `text` its canonical text in silver.
    """

    format = None
    cannot_say: dict = {}
    route: dict = {}
    marks = ()  # kinds of events, other than rows, that the format has
    operations: dict = {}
    # Whether a message says its place in the source; else gold depends on the order of delivery.
    has_position = True
    # The same of the rows of a full load.
    has_snapshot_position = True
    # Whether a message says when the source committed.
    has_time = True
    # Whether a copy can be told from a second change with the same content.
    tells_copies = True
    names_key = True
    # The columns that images have before and behind those of the table.
    adds_first = adds = ()
    # How a gold model reads bytes.
    bytes_in_gold = "unhex({})"

    def topic(self, prefix, table):
        """Return the topic of the messages of a table, which all tables share by default."""
        return f"{prefix}.{self.format}"

    def routes(self, prefix):
        """Return what the routes of the format's topics say beside the format."""
        return {self.topic(prefix, None): self.route}

    def encode(self, event):
        """Return the messages of an event: (bytes, kind), or nothing if the format has none."""
        if event.kind in ROW_KINDS:
            return [(value, "row_change") for value in self.rows(event)]
        return [(self.mark(event), event.kind)] if event.kind in self.marks else []

    def rows(self, event):
        return [self.row(event, number, *images) for number, images in enumerate(event.rows)]

    def changes(self, event):
        if event.kind not in ROW_KINDS:
            return []
        return [
            Change(
                event.table.name,
                self.operations.get(event.kind, event.kind),
                self.image(event.table, before),
                self.image(event.table, after),
                list(event.table.key) if self.names_key else None,
            )
            for before, after in event.rows
        ]

    def rows_of(self, history, table):
        """The rows of the source's table; without a TRUNCATE, what the source's removed stays."""
        if TRUNCATE in self.marks:
            return history.rows[table.name]
        rows = {}
        for event in history.events:
            if event.kind in ROW_KINDS and event.table is table:
                for before, after in event.rows:
                    if before:
                        rows.pop(table.key_of(before), None)
                    if after:
                        rows[table.key_of(after)] = after
        return rows

    def image(self, table, row):
        if row is None:
            return None
        return {c.name: self.text_or_null(c, row[c.name]) for c in table.columns}

    def text_or_null(self, column, value):
        value = None if value is None else self.carried(column, value)
        return None if value is None else self.text(column, value)

    def carried(self, column, value):
        return value

    def text(self, column, value):
        return canonical(column, value)

    def gold_expression(self, column):
        """How a gold model reads the column out of `image`."""
        text, data_type = f"image['{column.name}']", GOLD_TYPES[column.kind]
        if data_type == "binary":
            return self.bytes_in_gold.format(text)
        return text if data_type == "string" else f"try_cast({text} as {data_type})"


class AsSent:
    """A format whose values silver leaves as they were sent."""

    def text(self, column, value):
        return str(self.value(column, value))


def canonical(column, value):
    """The text of design 4.2 of a value that the format carries whole."""
    if column.kind in BINARY:
        return value.hex()
    if column.kind in ("time", "datetime", "timestamp"):
        return trimmed(value)
    if column.kind == "float":
        return java_float(value)
    if column.kind == "double":
        return java_double(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    return f"{value:04d}" if column.kind == "year" else str(value)


def trimmed(text):
    return text.rstrip("0").removesuffix(".") if "." in text else text


def java_double(value):
    """Double.toString: plain between 0.001 and 10,000,000, else with an exponent."""
    return _java(repr(value))


def java_float(value):
    digits = (f"{value:.{n}g}" for n in range(1, 10))
    return _java(next(text for text in digits if as_single(float(text)) == value))


def as_single(number):
    return struct.unpack("f", struct.pack("f", number))[0]


def _java(text):
    number = Decimal(text)
    if not number or Decimal("0.001") <= abs(number) < 10**7:
        plain = f"{number:f}"
        return plain if "." in plain else plain + ".0"
    sign, digits, exponent = number.normalize().as_tuple()
    tail = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{tail}E{exponent + len(digits) - 1}"


class Bare(str):
    """A number as it has to stand in the JSON text."""


def document(value):
    """A JSON document as an object or list of the message, unless it has blanks to lose."""
    return Bare(value) if value[0] in "{[" and " " not in value else value


def to_json(value, escape=False):
    """JSON of dicts, lists, texts and `Bare` numbers, every digit as given."""
    if isinstance(value, Bare):
        return str(value)
    if isinstance(value, dict):
        members = (f"{json.dumps(k)}:{to_json(v, escape)}" for k, v in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(to_json(item, escape) for item in value) + "]"
    return json.dumps(value, ensure_ascii=escape)


def changed(before, after):
    """The columns of `before` that `after` has otherwise."""
    return {name: value for name, value in before.items() if after[name] != value}


GOLD_TYPES = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "year"), "int"),
    **dict.fromkeys(("bigint", "bit"), "bigint"),
    "unsigned": "decimal(20, 0)",
    # 65 digits are more than Spark's decimals have.
    "decimal": "string",
    "price": "decimal(12, 2)",
    "float": "float",
    "double": "double",
    **dict.fromkeys(("char", "varchar", "text", "enum", "set", "json", "time"), "string"),
    "date": "date",
    "datetime": "timestamp_ntz",
    "timestamp": "timestamp",
    **dict.fromkeys(BINARY, "binary"),
}
