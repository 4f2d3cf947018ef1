"""The topics of the benchmark, and the table that they have to give, from nothing but numbers.

A row is a function of its id and its version, so that a writer remembers only which version an id
has. All changes of an id are in one partition, in order; nothing is late and nothing comes twice.
"""

import argparse
import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from json.encoder import encode_basestring as quoted
from multiprocessing import get_context
from pathlib import Path
from shutil import rmtree
from struct import pack

import pyarrow as pa
import pyarrow.parquet as pq

from cdc_lakehouse.ingest.files import STAGED

DATABASE, TABLE, TOPIC = "shop", "orders", "bench.orders"
FORMATS = ("dts_canal", "oms_default", "dts_avro")
STEPS = ("0-history", "1-one-percent", "2-ten-thousandth", "3-nothing")
PARTITIONS = 4
CHANGES_A_SECOND = 400  # of the source, in all partitions
MESSAGES_OF_FILE = 100_000
# The columns with their types in MySQL; `id` is the key. TIMESTAMPs are in UTC.
COLUMNS = {
    "id": "bigint",
    "customer_id": "int",
    "status": "varchar(16)",
    "total": "decimal(12,2)",
    "ledger": "decimal(30,10)",
    "discount": "double",
    "currency": "char(3)",
    "channel": "varchar(16)",
    "items": "smallint",
    "is_gift": "tinyint",
    "coupon": "varchar(32)",
    "customer": "varchar(80)",
    "address": "varchar(200)",
    "ordered_at": "datetime",
    "paid_at": "datetime(6)",
    "shipped_at": "datetime",
    "updated_at": "timestamp",
    "due_on": "date",
    "revision": "bigint",
    "note": "text",
}
NAMES = tuple(COLUMNS)
Row = tuple[str | None, ...]  # the texts that MySQL prints, in the order of COLUMNS
Change = tuple[str, Row | None, Row | None]  # snapshot, insert, update or delete; before, after

# Of a history: full load first, then changes; together 70 % new rows, 25 % updates, 5 % deletes.
FULL_LOAD = 0.4
HISTORY_MIX = (0.30 / 0.6, 0.25 / 0.6)
INCREMENT_MIX = (0.15, 0.80)
FIRST_SECOND = 1_700_000_000

_WORDS = (
    'the order of a customer who asked for it to be left at the door, "please ring twice"; paid by '
    "card / invoice\\credit, gift-wrapped; fragile: glass & china <handle with care> größer naïve "
    "crème brûlée Łódź 北京 東京 данные 📦 🚚 warehouse shelf 12b restocked 100% on Monday"
)
_drawn = random.Random(350_423)
_TEXT = " ".join(_drawn.choice(_WORDS.split()) for _ in range(100_000))
_STATUS = ("new", "paid", "packed", "shipped", "delivered", "returned")
_CURRENCIES = ("EUR", "USD", "CNY", "JPY", "GBP")
_CHANNELS = ("web", "app", "shop", "phone", "market place")
_GIVEN = ("Zoë", "Jürgen", "伟", "Анна", "Maria", "John", "Aïcha", "Søren", "李娜", "Pat")
_FAMILY = ("O'Neill", "Müller", "王", "Иванова", "García", "Smith", "N'Diaye", "Ångström", "Lee")
_STREETS = ("Main St", "Rue de Église", "Königsallee", "南京路", "Calle Mayor", 'The "Yard"')
_MASK = (1 << 64) - 1
_DAYS = [str(date(2023, 1, 1) + timedelta(days=n)) for n in range(1024)]
_CLOCK = [f"{n // 60:02d}:{n % 60:02d}" for n in range(3600)]


def drawn(number: int) -> int:
    """Return 64 bits that depend on all bits of a number, always the same (SplitMix64)."""
    number = (number + 0x9E3779B97F4A7C15) & _MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _MASK
    return number ^ (number >> 31)


def row_of(id: int, version: int) -> Row:
    """Return a version (from 0) of a row; some columns never change, some do with every version.

    Doubles and fractions of seconds end in a digit that is not zero, and neither doubles nor
    decimals are near zero: all engines print these alike.
    """
    x = drawn(id)
    v = drawn(id << 20 | version)
    w = drawn(v)
    stage = min(version + x % 3, 5)
    day = x % 900
    begin = (x >> 17) % 60_000
    return (
        str(id),
        str((x >> 8) % 2_000_000 + 1),
        _STATUS[stage],
        f"{v % 9_000_000 + 1}.{(v >> 24) % 100:02d}",
        f"{'-' if w & 7 == 0 else ''}{w % 10**18 + 1}.{v % 10**10:010d}",
        None if w % 5 == 0 else f"{(w >> 8) % 100 + 1}.{(w >> 16) % 1000:03d}{(w >> 40) % 9 + 1}",
        _CURRENCIES[x % 5],
        _CHANNELS[(x >> 11) % 5],
        str((x >> 13) % 40 + 1),
        "1" if x % 17 == 0 else "0",
        f"SAVE-{(x >> 21) % 10**6:06d}" if x % 4 == 0 else None,
        f"{_GIVEN[(x >> 5) % 10]} {_FAMILY[(x >> 29) % 9]}",
        f"{_STREETS[(x >> 33) % 6]} {(x >> 37) % 300 + 1}, {(x >> 41) % 90_000 + 10_000}",
        f"{_DAYS[day]} {(x >> 45) % 24:02d}:{_CLOCK[(x >> 50) % 3600]}",
        f"{_DAYS[day + 1]} {w % 24:02d}:{_CLOCK[(w >> 5) % 3600]}.{(w >> 17) % 100_000:05d}7"
        if stage > 0
        else None,
        f"{_DAYS[day + 3]} {v % 24:02d}:{_CLOCK[(v >> 5) % 3600]}" if stage > 2 else None,
        f"{_DAYS[day + min(version, 90)]} {v % 24:02d}:{_CLOCK[(v >> 9) % 3600]}",
        _DAYS[day + 30],
        str(2**60 + (v >> 4)),
        None if x % 11 == 0 else _TEXT[begin : begin + 20 + (x >> 9) % 80],
    )


class Source:
    """The source database as far as one partition of the topic shows it."""

    def __init__(self, partition: int) -> None:
        self.partition, self.drawn = partition, random.Random(partition)
        self.versions: dict[int, int] = {}  # of the active rows
        self.active: list[int] = []
        self.ids = 0

    def history(self, count: int) -> Iterator[Change]:
        """Yield the changes of a new topic."""
        full = int(count * FULL_LOAD)
        for _ in range(full):
            yield self.insert("snapshot")
        yield from self.changes(count - full, HISTORY_MIX)

    def changes(self, count: int, mix: tuple[float, float]) -> Iterator[Change]:
        """Yield changes, by the shares of inserts and updates; the rest are deletes."""
        inserts, updates = mix
        for _ in range(count):
            which = self.drawn.random()
            if which < inserts or not self.active:
                yield self.insert("insert")
            elif which < inserts + updates:
                yield self.update()
            else:
                yield self.delete()

    def insert(self, operation: str) -> Change:
        id = self.ids * PARTITIONS + self.partition + 1
        self.ids += 1
        self.versions[id] = 0
        self.active.append(id)
        return operation, None, row_of(id, 0)

    def update(self) -> Change:
        id = self.active[self.drawn.randrange(len(self.active))]
        version = self.versions[id]
        self.versions[id] = version + 1
        return "update", row_of(id, version), row_of(id, version + 1)

    def delete(self) -> Change:
        place = self.drawn.randrange(len(self.active))
        id = self.active[place]
        self.active[place] = self.active[-1]
        self.active.pop()
        return "delete", row_of(id, self.versions.pop(id)), None

    def rows(self) -> Iterator[Row]:
        """Yield the active rows as they are now."""
        for id, version in self.versions.items():
            yield row_of(id, version)


# ---------------------------------------------------------------------------- formats

# `seconds` is when the source committed, `number` counts the changes of all partitions.
Writer = Callable[[Change, int, int], bytes]


def table_name(number: int) -> str:
    """Return the name of one of several tables, counted from 0."""
    return f"{TABLE}_{number}" if number else TABLE


def table_of(change: Change, tables: int) -> str:
    """Return the name of the table that a change belongs to, by its id."""
    _, before, after = change
    return table_name(int((after or before)[0]) % tables)


_JDBC = {"bigint": -5, "int": 4, "smallint": 5, "tinyint": -6, "decimal": 3, "double": 8}
_JDBC |= {"varchar": 12, "char": 1, "text": 12, "datetime": 93, "timestamp": 93, "date": 91}
_BINLOG = {"bigint": 8, "int": 3, "smallint": 2, "tinyint": 1, "decimal": 246, "double": 5}
_BINLOG |= {"varchar": 253, "char": 254, "text": 252, "datetime": 12, "timestamp": 7, "date": 10}
_KINDS = tuple(type.split("(")[0] for type in COLUMNS.values())


def dts_canal(tables: int = 1) -> Writer:
    """Return the writer of DTS's Canal JSON: all values quoted, `old` with what has changed."""
    names = [f'"{name}":' for name in NAMES]
    types = {name: kind for name, kind in zip(NAMES, _KINDS, strict=True)}
    numbers = {name: _JDBC[kind] for name, kind in zip(NAMES, _KINDS, strict=True)}
    tail = (
        f'"pkNames":["id"],"sql":"","sqlType":{json.dumps(numbers, separators=(",", ":"))},'
        '"table":"%s","ts":%d771,"type":"%s"}'
    )
    head = f'"database":"{DATABASE}","es":%d000,"gtid":"3e11fa47-71ca-11e1-9e33-c80aa9429562:%d",'
    head += f'"id":%d,"isDdl":false,"mysqlType":{json.dumps(types, separators=(",", ":"))},'
    words = {"snapshot": "INIT", "insert": "INSERT", "update": "UPDATE", "delete": "DELETE"}

    def member(name: str, value: str | None) -> str:
        return name + ("null" if value is None else quoted(value))

    def write(change: Change, number: int, seconds: int) -> bytes:
        operation, before, after = change
        data = ",".join(map(member, names, after or before))
        old = "null"
        if operation == "update":
            pairs = zip(names, before, after, strict=True)
            old = ",".join([member(name, was) for name, was, now in pairs if was != now])
            old = f"[{{{old}}}]"
        first = head % (seconds, number, 1_669_000_000_000_000_000 + number)
        last = tail % (table_of(change, tables), seconds, words[operation])
        return f'{{"data":[{{{data}}}],{first}"old":{old},{last}'.encode()

    return write


def oms_default(tables: int = 1) -> Writer:
    """Return the writer of OMS's Default: numbers bare, TIMESTAMP in seconds, both images whole."""
    bare = ("bigint", "int", "smallint", "tinyint", "decimal", "double")
    spelled = {"timestamp": lambda text: f'"{epoch_seconds(text)}"', **dict.fromkeys(bare, str)}
    members = [(f'"{n}":', spelled.get(k, quoted)) for n, k in zip(NAMES, _KINDS, strict=True)]
    words = {"snapshot": "ROW", "insert": "INSERT", "update": "UPDATE", "delete": "DELETE"}
    head = '{"allMetaData":{"checkpoint":"%d","record_primary_key":"id",'
    head += '"source_identity":"ob_mysql_1","record_primary_value":"%s","dbType":"OB_MYSQL",'
    head += f'"table_name":"%s","db":"tenant_1.{DATABASE}"'
    place = ',"timestamp":"%d","storeDataSequence":%d%05d,"transId":"1002_%d"'

    def image(row: Row | None) -> str:
        if row is None:
            return "null"
        pairs = zip(members, row, strict=True)
        texts = [name + ("null" if text is None else spell(text)) for (name, spell), text in pairs]
        return f"{{{','.join(texts)}}}"

    def write(change: Change, number: int, seconds: int) -> bytes:
        operation, before, after = change
        meta = head % (seconds, (after or before)[0], table_of(change, tables))
        if operation != "snapshot":
            meta += place % (seconds, seconds, (number - 1) % CHANGES_A_SECOND, number)
        old, new = image(before), image(after)
        kind = words[operation]
        return f'{meta}}},"prevStruct":{old},"recordType":"{kind}","postStruct":{new}}}'.encode()

    return write


def epoch_seconds(text: str) -> int:
    """Return a TIMESTAMP in seconds since 1970."""
    days = (date.fromisoformat(text[:10]) - date(1970, 1, 1)).days
    clock = int(text[11:13]) * 3600 + int(text[14:16]) * 60 + int(text[17:19])
    return days * 86_400 + clock


def dts_avro(tables: int = 1) -> Writer:
    """Return the writer of DTS's Avro: a bare datum of avro/dts_avro.avsc, both images whole.

    The bytes are put together here, which takes half as long as fastavro.
    """
    spelled = [_AVRO.get(kind, avro_integer) for kind in _KINDS]
    pairs = zip(NAMES, _KINDS, strict=True)
    fields = b"".join([avro_string(name) + avro_long(_BINLOG[kind]) for name, kind in pairs])
    tags = {"metaVersion": "1", "pk_uk_info": '{"PRIMARY":["id"]}'}
    texts = b"".join([avro_string(text) for member in tags.items() for text in member])
    count = avro_long(len(NAMES))
    operations = {"snapshot": 16, "insert": 0, "update": 1, "delete": 2}
    source = avro_string("0") + avro_long(0) + avro_string("8.0.32")
    # Behind the table: no process timestamps, the tags, the columns.
    rest = avro_long(0) + avro_long(len(tags)) + texts + avro_long(0)
    rest += avro_long(2) + count + fields + avro_long(0)

    def image(row: Row | None) -> bytes:
        if row is None:
            return b"\0"
        values = zip(spelled, row, strict=True)
        written = [b"\0" if text is None else spell(text) for spell, text in values]
        return b"\4%b%b\0" % (count, b"".join(written))

    def write(change: Change, number: int, seconds: int) -> bytes:
        operation, before, after = change
        position = avro_string(f"{number * 100}@78")
        parts = (
            avro_long(0),
            avro_long(number),
            avro_long(seconds),
            b"\0" if operation == "snapshot" else position,
            position,
            source,
            avro_long(operations[operation]),
            avro_long(1),
            avro_string(f"{DATABASE}.{table_of(change, tables)}"),
            rest,
            image(before),
            image(after),
            avro_long(seconds * 1000 + 17),
        )
        return b"".join(parts)

    return write


def avro_long(number: int) -> bytes:
    """Return an int, a long, the place of an enum's symbol or of a union's branch."""
    number = number << 1 if number >= 0 else (-number << 1) - 1
    if number < 128:
        return _BYTES[number]
    written = bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    written.append(number)
    return bytes(written)


def avro_string(text: str) -> bytes:
    encoded = text.encode()
    return avro_long(len(encoded)) + encoded


# The values of an image: a union, whose branch is the first byte.


def avro_integer(text: str) -> bytes:
    return b"\2\0" + avro_string(text)


def avro_text(text: str) -> bytes:
    return b"\4\x0eutf8mb4" + avro_string(text)


def avro_decimal(text: str) -> bytes:
    scale = len(text) - text.index(".") - 1
    return b"\6" + avro_string(text) + avro_long(30) + avro_long(scale)


def avro_float(text: str) -> bytes:
    return b"\x08" + pack("<d", float(text)) + b"\0\0"


def avro_timestamp(text: str) -> bytes:
    return b"\x0a" + avro_long(epoch_seconds(text)) + b"\0"


def avro_date_time(text: str) -> bytes:
    """Return a DATE or DATETIME; the seventh part, `millis`, holds microseconds for MySQL."""
    parts = [text[:4], text[5:7], text[8:10]]
    if len(text) > 10:
        parts += [text[11:13], text[14:16], text[17:19], text[20:] or "0"]
    written = b"".join([b"\2" + avro_long(int(part)) for part in parts])
    return b"\x0c" + written + b"\0" * (7 - len(parts))


_BYTES = [bytes([number]) for number in range(128)]
_AVRO = {
    "decimal": avro_decimal,
    "double": avro_float,
    **dict.fromkeys(("varchar", "char", "text"), avro_text),
    **dict.fromkeys(("datetime", "date"), avro_date_time),
    "timestamp": avro_timestamp,
}
WRITERS = {"dts_canal": dts_canal, "oms_default": oms_default, "dts_avro": dts_avro}


# ---------------------------------------------------------------------------- files


def generate(folder: Path, format: str, messages: int, history: int = 1) -> dict:
    """Write the topics of a benchmark, and return what topics.json says of them.

    What the same arguments have written before stays as it is.

    Args:
        folder: gets a folder for each step, expected.parquet and topics.json.
        format: one of FORMATS.
        messages: of the history, at least 20; the increments are shares of it.
        history: how many times as many messages the history has, the increments being the same.
    """
    asked = {"format": format, "messages": messages, "history": history, "columns": COLUMNS}
    said = folder / "topics.json"
    if said.exists():
        known = json.loads(said.read_text())
        if {name: known.get(name) for name in asked} == asked:
            return known
    rmtree(folder, ignore_errors=True)
    for step in STEPS:
        (folder / step).mkdir(parents=True)
    counts = (messages * history, max(20, messages // 100), max(20, messages // 10_000), 0)
    shares = [(str(folder), format, counts, partition) for partition in range(PARTITIONS)]
    with get_context("spawn").Pool() as pool:
        written = pool.starmap(write_partition, shares)
    parts = [folder / f"expected-{partition}" for partition in range(PARTITIONS)]
    tables = [pq.read_table(part) for part in parts]
    pq.write_table(pa.concat_tables(tables), folder / "expected.parquet", compression="zstd")
    for part in parts:
        part.unlink()
    steps = {
        name: {"messages": count, "bytes": sum(sizes)}
        for name, count, sizes in zip(STEPS, counts, zip(*written, strict=True), strict=True)
    }
    known = {**asked, "rows": sum(map(len, tables)), "steps": steps}
    said.write_text(json.dumps(known, indent=1))
    return known


def write_partition(folder: str, format: str, counts: tuple[int, ...], partition: int) -> list[int]:
    """Write one partition of all steps and its rows at the end; return the bytes of each step."""
    part = Partition(format, partition)
    sizes = [
        part.write(Path(folder, step), count, INCREMENT_MIX if part.offset else None)
        for step, count in zip(STEPS, counts, strict=True)
    ]
    pq.write_table(part.rows(), Path(folder, f"expected-{partition}"))
    return sizes


class Partition:
    """One partition of the topic, written in the order of its offsets."""

    def __init__(self, format: str, partition: int, tables: int = 1) -> None:
        self.partition, self.offset = partition, 0  # of the next message
        self.source, self.writer = Source(partition), WRITERS[format](tables)

    def write(self, folder: Path, count: int, mix: tuple[float, float] | None) -> int:
        """Write the next messages into files; return the bytes of their values.

        Args:
            count: of the whole topic, of which this partition has its share.
            mix: shares of inserts and updates; None is the history of a new topic.
        """
        share = count // PARTITIONS + (self.partition < count % PARTITIONS)
        changes = self.source.changes(share, mix) if mix else self.source.history(share)
        size, file = 0, 0
        while batch := list(islice(changes, MESSAGES_OF_FILE)):
            messages = _messages(batch, self.writer, self.partition, self.offset)
            path = folder / f"{TOPIC}-{self.partition}-{file:03d}.parquet"
            pq.write_table(messages, path, use_dictionary=["topic"])
            size += messages["value"].nbytes
            self.offset, file = self.offset + len(batch), file + 1
        return size

    def rows(self) -> pa.Table:
        """Return the rows that live now."""
        columns = list(zip(*self.source.rows(), strict=True)) or [()] * len(NAMES)
        return pa.table([pa.array(column, pa.string()) for column in columns], list(NAMES))


def _messages(batch: list[Change], write: Writer, partition: int, first: int) -> pa.Table:
    """Return changes as messages in the shape of Spark's Kafka source."""
    offsets = range(first, first + len(batch))
    seconds = [FIRST_SECOND + offset * PARTITIONS // CHANGES_A_SECOND for offset in offsets]
    values = [
        write(change, offset * PARTITIONS + partition + 1, second)
        for change, offset, second in zip(batch, offsets, seconds, strict=True)
    ]
    keys = [(after or before)[0].encode() for _, before, after in batch]
    columns = [
        pa.repeat(TOPIC, len(batch)),
        pa.repeat(pa.scalar(partition, pa.int32()), len(batch)),
        pa.array(offsets, pa.int64()),
        pa.array([second * 1_000_000 for second in seconds], STAGED.field("timestamp").type),
        pa.repeat(pa.scalar(0, pa.int32()), len(batch)),
        pa.array(keys, pa.binary()),
        pa.array(values, pa.binary()),
        pa.nulls(len(batch), STAGED.field("headers").type),
    ]
    return pa.table(columns, STAGED)


def main() -> None:
    """Write the topics that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m bench.topics")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--format", required=True, choices=FORMATS)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--history", type=int, default=1, metavar="K")
    given = parser.parse_args()
    began = datetime.now(UTC)
    known = generate(given.folder, given.format, given.messages, given.history)
    took = (datetime.now(UTC) - began).total_seconds()
    print(json.dumps({**known["steps"], "rows": known["rows"], "seconds": round(took, 1)}))


if __name__ == "__main__":
    main()
