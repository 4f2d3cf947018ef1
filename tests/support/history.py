"""One random history of two MySQL tables: what a source did, before any format wrote it down.

`History(seed, statements)` is the same for the same numbers. A value is kept as MySQL has it: int,
Decimal, float, str, bytes, None; times as MySQL's text with six digits of a fraction, a TIMESTAMP
in UTC, a bit string as an int, ENUM and SET as labels.
"""

import random
import struct
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal


@dataclass(frozen=True)
class Column:
    """A column: what kind of value it has, and its type as MySQL words it."""

    name: str
    kind: str
    mysql_type: str
    labels: tuple = ()


@dataclass(frozen=True)
class Table:
    name: str
    key: tuple
    columns: tuple

    def key_of(self, row):
        return tuple(row[name] for name in self.key)

    @property
    def key_columns(self):
        return [column for name in self.key for column in self.columns if column.name == name]


SIZES, TAGS = ("small", "medium", "it's large"), ("red", "green", "blue")
EVERYTHING = Table(
    "everything",
    ("id",),
    (
        Column("id", "bigint", "bigint(20)"),
        Column("a_tinyint", "tinyint", "tinyint(4)"),
        Column("a_smallint", "smallint", "smallint(6)"),
        Column("a_mediumint", "mediumint", "mediumint(9)"),
        Column("an_int", "int", "int(11)"),
        Column("a_bigint", "bigint", "bigint(20)"),
        Column("an_unsigned", "unsigned", "bigint(20) unsigned"),
        Column("a_decimal", "decimal", "decimal(65,30)"),
        Column("a_price", "price", "decimal(12,2)"),
        Column("a_float", "float", "float"),
        Column("a_double", "double", "double"),
        Column("a_bit", "bit", "bit(20)"),
        Column("a_char", "char", "char(40)"),
        Column("a_varchar", "varchar", "varchar(100)"),
        Column("a_text", "text", "text"),
        Column("an_enum", "enum", "enum('small','medium','it''s large')", SIZES),
        Column("a_set", "set", "set('red','green','blue')", TAGS),
        Column("a_json", "json", "json"),
        Column("a_date", "date", "date"),
        Column("a_time", "time", "time(6)"),
        Column("a_datetime", "datetime", "datetime(6)"),
        Column("a_timestamp", "timestamp", "timestamp(6)"),
        Column("a_year", "year", "year(4)"),
        Column("a_varbinary", "varbinary", "varbinary(50)"),
        Column("a_blob", "blob", "blob"),
    ),
)
TWO_KEYS = Table(
    "two_keys",
    ("region", "number"),
    (
        Column("number", "int", "int(11)"),
        Column("name", "varchar", "varchar(100)"),
        Column("region", "varchar", "varchar(20)"),
        Column("price", "price", "decimal(12,2)"),
        Column("changed_at", "timestamp", "timestamp(6)"),
    ),
)
DATABASE = "lab"
TABLES = (EVERYTHING, TWO_KEYS)

TEXTS = (
    "",
    "plain",
    " blanks ",
    "null",
    "0",
    "NaN",
    'a "quoted" word',
    "it's",
    "back\\slash \\u0041 \\",
    "nul \x00 and \x01\x1f\x7f",
    "line\r\nbreak\ttab",
    "clef \U0001d11e, face \U0001f600\U0001f389",
    "ünïcödé, 中文, עברית",
    "\u2028\u2029\ufeff\ufffd\uffff",
    "<a href='x'>&amp;=</a>",
    '{"a":[1,2.50,null]}',
    "[1, -2]",
    "c29tZQ==",
    "2024-02-30",
    "1.50",
)
JSONS = (
    "{}",
    "[]",
    "null",
    '"text"',
    "1.0",
    "12345678901234567890.1234567890",
    '{"a":[1,1.50,"x",true,null],"b":{"c":1E+2}}',
    '[-0,0.10,-0.0,1e400,{"1.50":"1.50"},12345678901234567890.1234567890]',
    '{"a": {"b": [1, 2.50, null, "\\u0000 \\"x\\""]}, "ü": "\U0001f600"}',
    "[" * 40 + "]" * 40,
)
REGIONS = ("north", "süd", "O'Hare", 'a"b', "\U0001f600", "a.b", " west", "", "1")
EPOCH = datetime(1970, 1, 1)


def _whole_number(bits, generator):
    limit = 1 << (bits - 1)
    edges = (0, 1, -1, limit - 1, -limit)
    return generator.choice(edges) if generator.random() < 0.4 else generator.randrange(limit)


def _decimal(whole, fraction, generator):
    digits = generator.choice((0, 1, whole))
    number = generator.randrange(10**digits) if digits else 0
    small = generator.choice((0, 1, 10 ** (fraction - 1), generator.randrange(10**fraction)))
    sign = generator.choice(("", "-")) if number or small else ""
    return Decimal(f"{sign}{number}.{small:0{fraction}d}")


def _single(generator):
    """A number that a FLOAT holds, and that its six or seven digits tell."""
    text = f"{generator.uniform(-1, 1):.6g}"
    number = float(text) * 10 ** generator.choice((0, 1, 7, 30, -30))
    return struct.unpack("f", struct.pack("f", float(f"{number:.6g}")))[0]


def _double(generator):
    """A number of fifteen digits: OMS writes sixteen."""
    number = generator.uniform(-1, 1) * 10 ** generator.choice((0, 1, 7, 300, -300))
    return generator.choice((0.0, 1.0, 0.1, 1e16, float(f"{number:.15g}")))


def _clock(generator):
    fraction = generator.choice((0, 1, 10_000, 120_000, 999_999, generator.randrange(10**6)))
    return f"{generator.randrange(60):02d}:{generator.randrange(60):02d}.{fraction:06d}"


def _day(generator):
    day = datetime(1980, 1, 1) + timedelta(days=generator.randrange(30_000))
    return generator.choice((day.strftime("%Y-%m-%d"), "9999-12-31", "2024-02-29"))


def _time(generator):
    hours = generator.choice((0, 9, 23, 24, 100, 837))
    return f"{generator.choice(('', '-'))}{hours:02d}:{_clock(generator)}"


def _datetime(generator):
    return f"{_day(generator)} {generator.randrange(24):02d}:{_clock(generator)}"


def _timestamp(generator):
    seconds = generator.choice((1, 2**31 - 1, generator.randrange(8 * 10**8, 2**31)))
    moment = EPOCH + timedelta(seconds=seconds, microseconds=generator.randrange(10**6))
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond:06d}"


def _text(generator):
    return generator.choice((generator.choice(TEXTS), f"text {generator.random()}"))


def _bytes(generator):
    every = bytes(range(256))
    start = generator.randrange(256)
    return generator.choice((b"", b"\0", b"\xff\xfe\0", b"plain", every[start : start + 50]))


def _json(generator, depth=3):
    """A document without blanks, whose numbers are spelled in every way that JSON has."""
    kind = generator.choice("nnnt" + "ao" * depth)
    if kind == "n":
        sign, whole = (
            generator.choice(("", "-")),
            generator.choice((0, 7, generator.getrandbits(90))),
        )
        fraction = generator.choice(("", ".0", ".50", f".{generator.getrandbits(90)}"))
        exponent = generator.choice(("", "", "e5", "E-30", "e+400"))
        return f"{sign}{whole}{fraction}{exponent}"
    if kind == "t":
        return generator.choice(('"1.50"', '"\\u0000 \\" \\\\"', "null", "true", '"\U0001f600"'))
    members = [_json(generator, depth - 1) for _ in range(generator.randrange(4))]
    if kind == "a":
        return f"[{','.join(members)}]"
    return "{" + ",".join(f'"k{i}":{member}' for i, member in enumerate(members)) + "}"


VALUES = {
    "tinyint": lambda generator: _whole_number(8, generator),
    "smallint": lambda generator: _whole_number(16, generator),
    "mediumint": lambda generator: _whole_number(24, generator),
    "int": lambda generator: _whole_number(32, generator),
    "bigint": lambda generator: _whole_number(64, generator),
    "unsigned": lambda g: g.choice((0, 2**63 - 1, 2**63, 2**64 - 1, g.randrange(2**64))),
    "decimal": lambda generator: _decimal(35, 30, generator),
    "price": lambda generator: _decimal(10, 2, generator),
    "float": _single,
    "double": _double,
    "bit": lambda generator: generator.choice((0, 1, 255, 256, 2**20 - 1)),
    "char": lambda generator: _text(generator).rstrip(" "),
    "varchar": _text,
    "text": lambda generator: _text(generator) * generator.choice((1, 1, 50)),
    "enum": lambda generator: generator.choice(SIZES),
    "set": lambda generator: ",".join(tag for tag in TAGS if generator.random() < 0.5),
    "json": lambda generator: generator.choice((generator.choice(JSONS), _json(generator))),
    "date": lambda g: g.choice((_day(g), _day(g), "0000-00-00", "2024-00-00")),
    "time": _time,
    "datetime": lambda g: g.choice((_datetime(g), _datetime(g), "0000-00-00 00:00:00.000000")),
    "timestamp": _timestamp,
    "year": lambda generator: generator.choice((0, 1901, 2024, 2155)),
    "varbinary": _bytes,
    "blob": lambda generator: _bytes(generator) * generator.choice((1, 1, 5)),
}


@dataclass
class Event:
    """A statement of the source (with its rows), or a mark in its log.

    `rows` are pairs of (before, after). `number` counts the statements; `file` and `offset` are the
    place in the binlog, which the rows of a statement share. The first row is number `counter` of
    the second `seconds`, `first_row` of its transaction and `first_id` of the whole log.
    """

    kind: str
    number: int
    seconds: int
    counter: int
    file: int
    offset: int
    first_id: int
    transaction: int
    table: Table | None = None
    rows: list = field(default_factory=list)
    sql: str | None = None
    first_row: int = 1
    transaction_size: int = 1


class History:
    """The events of a random source, and the rows that they leave behind."""

    def __init__(self, seed, statements):
        self.events = []
        self.generator = random.Random(seed)
        self.rows = {table.name: {} for table in TABLES}
        self.deleted = {table.name: [] for table in TABLES}
        self.seconds, self.counter, self.ids = 1_790_000_000, 0, 1000
        self.file, self.offset, self.transaction = 41, 900, 0
        for table in TABLES:
            for _ in range(8):
                self._add("snapshot", table, [(None, self._new_row(table))])
        self.seconds += 60
        # The last part of the history is left to fill the tables again.
        self.to_truncate = [(0.3 * statements, EVERYTHING), (0.5 * statements, TWO_KEYS)]
        while len(self.events) < statements:
            self._transaction()
        for table in TABLES:
            self.transaction += 1
            self._add("insert", table, [(None, self._new_row(table))])

    def _transaction(self):
        generator = self.generator
        self.transaction += 1
        chance = generator.random()
        if chance < 0.06:
            return self._add("heartbeat")
        table = generator.choice((EVERYTHING, EVERYTHING, TWO_KEYS))
        if chance < 0.10:
            return self._add("schema_change", table, sql=f"alter table `{table.name}` comment 'x'")
        if self.to_truncate and len(self.events) > self.to_truncate[0][0]:
            _, table = self.to_truncate.pop(0)
            self.rows[table.name].clear()
            return self._add("truncate", table, sql=f"TRUNCATE TABLE `{table.name}`")
        first = len(self.events)
        self._add("transaction_begin")
        for _ in range(generator.choice((1, 1, 2, 4))):
            self._statement(generator.choice((EVERYTHING, EVERYTHING, TWO_KEYS)))
        changes = self.events[first + 1 :]
        row = 1
        for event in changes:
            event.first_row, row = row, row + len(event.rows)
        for event in changes:
            event.transaction_size = row - 1
        return self._add("transaction_end")

    def _statement(self, table):
        generator, active = self.generator, self.rows[table.name]
        wanted = generator.choice(("insert", "insert", "update", "update", "update", "delete"))
        kind = wanted if active else "insert"
        count = 1 if kind == "delete" else generator.choice((1, 1, 2, 3))
        if kind == "insert":
            rows = [(None, self._new_row(table)) for _ in range(count)]
        else:
            keys = generator.sample(sorted(active, key=repr), min(count, len(active)))
            rows = [(active[key], None) for key in keys]
        if kind == "delete":
            for before, _ in rows:
                self.deleted[table.name].append(table.key_of(before))
                del active[table.key_of(before)]
        if kind == "update":
            rows = self._updated(table, rows)
        if rows:
            self._add(kind, table, rows)

    def _updated(self, table, rows):
        generator, active = self.generator, self.rows[table.name]
        others = [column for column in table.columns if column.name not in table.key]
        changed = generator.sample(others, generator.choice((1, 2, len(others) // 2)))
        moves = generator.random() < 0.25
        updated = []
        for before, _ in rows:
            after = dict(before)
            for column in changed:
                after[column.name] = self._value(column)
            if after == before and not moves:
                # MySQL logs no row that an UPDATE leaves as it was.
                continue
            del active[table.key_of(before)]
            if moves:
                after.update(zip(table.key, self._free_key(table), strict=True))
                self.deleted[table.name].append(table.key_of(before))
            active[table.key_of(after)] = after
            updated.append((before, after))
        return updated

    def _new_row(self, table):
        row = {column.name: self._value(column) for column in table.columns}
        row.update(zip(table.key, self._free_key(table), strict=True))
        self.rows[table.name][table.key_of(row)] = row
        return row

    def _free_key(self, table):
        """A key that no row has, often one that a row had."""
        generator, active = self.generator, self.rows[table.name]
        while True:
            again = self.deleted[table.name]
            if again and generator.random() < 0.5:
                key = generator.choice(again)
            elif table is EVERYTHING:
                key = (generator.choice((generator.randrange(200), -(2**63), 2**63 - 1)),)
            else:
                key = (generator.choice(REGIONS), generator.randrange(-3, 30))
            if key not in active:
                return key

    def _value(self, column):
        is_null = self.generator.random() < 0.15
        return None if is_null else VALUES[column.kind](self.generator)

    def _add(self, kind, table=None, rows=(), sql=None):
        generator = self.generator
        # A TRUNCATE has a second of its own to begin: OMS gives statements no place within it.
        if kind != "snapshot" and (kind == "truncate" or generator.random() < 0.5):
            self.seconds, self.counter = self.seconds + generator.choice((1, 1, 7)), 1
        if generator.random() < 0.03:
            self.file, self.offset = self.file + 1, 4
        self.offset += generator.randrange(1, 2000)
        self.ids += 1
        place = self.seconds, self.counter, self.file, self.offset, self.ids, self.transaction
        number = len(self.events) + 1
        self.events.append(Event(kind, number, *place, table, list(rows), sql))
        self.counter += max(1, len(rows))
        self.ids += len(rows)
