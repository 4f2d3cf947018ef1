"""Debezium 2.7: "Debezium connector for MySQL", through JsonConverter with schemas."""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

from base64 import b64encode
from dataclasses import replace
from datetime import date, datetime

from history import DATABASE
from shop import Keyed

from encoders.base import (
    BEGIN,
    BINARY,
    END,
    HEARTBEAT,
    SCHEMA_CHANGE,
    TRUNCATE,
    Bare,
    Change,
    Encoder,
    java_double,
    java_float,
    to_json,
    trimmed,
)

DECIMAL = "org.apache.kafka.connect.data.Decimal"
# The type of Kafka Connect and the semantic type, by what the page's tables map MySQL's to.
TYPES = {
    **dict.fromkeys(("tinyint", "smallint"), ("int16", None)),
    **dict.fromkeys(("mediumint", "int"), ("int32", None)),
    "bigint": ("int64", None),
    **dict.fromkeys(("unsigned", "decimal", "price"), ("bytes", DECIMAL)),
    "float": ("float", None),
    "double": ("double", None),
    "bit": ("bytes", "io.debezium.data.Bits"),
    **dict.fromkeys(("char", "varchar", "text"), ("string", None)),
    "enum": ("string", "io.debezium.data.Enum"),
    "set": ("string", "io.debezium.data.EnumSet"),
    "json": ("string", "io.debezium.data.Json"),
    "date": ("int32", "io.debezium.time.Date"),
    "time": ("int64", "io.debezium.time.MicroTime"),
    "datetime": ("int64", "io.debezium.time.MicroTimestamp"),
    "timestamp": ("string", "io.debezium.time.ZonedTimestamp"),
    "year": ("int32", "io.debezium.time.Year"),
    **dict.fromkeys(BINARY, ("bytes", None)),
}
PARAMETERS = {
    "unsigned": {"scale": "0"},
    "decimal": {"scale": "30", "connect.decimal.precision": "65"},
    "price": {"scale": "2", "connect.decimal.precision": "12"},
    "bit": {"length": "20"},
}
EPOCH = datetime(1970, 1, 1)


def base64(value):
    return b64encode(value).decode()


def unscaled(number):
    """The digits of a decimal as the bytes of Java's BigInteger."""
    sign, digits, _ = number.as_tuple()
    whole = int("".join(map(str, digits))) * (-1 if sign else 1)
    return big_integer(whole)


def big_integer(number):
    length = 1
    while not -(1 << (8 * length - 1)) <= number < 1 << (8 * length - 1):
        length += 1
    return number.to_bytes(length, "big", signed=True)


def microseconds(clock):
    hours, minutes, seconds = clock.removeprefix("-").split(":")
    whole, fraction = seconds.split(".")
    found = (int(hours) * 3600 + int(minutes) * 60 + int(whole)) * 1_000_000 + int(fraction)
    return -found if clock.startswith("-") else found


class DebeziumJson(Encoder):
    format = "debezium_json"
    cannot_say = {"days that are none": "0000-00-00 is null, where the column may be"}
    marks = (HEARTBEAT, SCHEMA_CHANGE, TRUNCATE, BEGIN, END)
    has_tombstones = True  # `tombstones.on.delete`

    def encode(self, event):
        if event.kind != "snapshot" and not event.rows:
            return super().encode(event)
        sent = []
        for number, (before, after) in enumerate(event.rows):
            for was, now in self.split(event.table, before, after):
                row = now if was is None else was
                key = self.key(event.table, row)
                sent.append((Keyed(self.row(event, number, was, now), key), "row_change"))
                if now is None and self.has_tombstones:
                    sent.append((None, "control"))
        return sent

    def split(self, table, before, after):
        """An update of the key is sent as a delete and an insert."""
        if before and after and table.key_of(before) != table.key_of(after):
            return [(before, None), (None, after)]
        return [(before, after)]

    def changes(self, event):
        if event.kind not in ("insert", "update", "delete", "snapshot"):
            return []
        found = []
        for images in event.rows:
            for before, after in self.split(event.table, *images):
                operation = event.kind
                if operation == "update" and not (before and after):
                    operation = "delete" if after is None else "insert"
                images = (self.image(event.table, image) for image in (before, after))
                found.append(Change(event.table.name, operation, *images, list(event.table.key)))
        return found

    def row(self, event, number, before, after):
        fields = self.fields(event.table.columns)
        images = [
            {"type": "struct", "fields": fields, "optional": True, "field": part}
            for part in ("before", "after")
        ]
        return self.whole(images, self.envelope(event, number, before, after))

    def envelope(self, event, number, before, after):
        operation = "r" if event.kind == "snapshot" else self.operation(before, after)
        return {
            "before": self.values(event.table, before),
            "after": self.values(event.table, after),
            "source": self.source(event, number),
            "op": operation,
            "ts_ms": Bare(event.seconds * 1000 + 345),
            "transaction": {
                "id": self.transaction(event),
                "total_order": Bare(event.first_row + number),
                "data_collection_order": Bare(event.first_row + number),
            },
        }

    def operation(self, before, after):
        return "c" if before is None else "d" if after is None else "u"

    def transaction(self, event):
        return f"file=mysql-bin.{event.file:06d},transaction={event.transaction}"

    def source(self, event, row):
        # All rows of a snapshot have the place at which it was taken.
        is_snapshot = event.kind == "snapshot"
        return {
            "version": "2.7.3.Final",
            "connector": "mysql",
            "name": "dbz",
            "ts_ms": Bare(event.seconds * 1000),
            "snapshot": "true" if is_snapshot else "false",
            "db": DATABASE,
            "sequence": None,
            "table": event.table.name,
            "server_id": Bare(0 if is_snapshot else 223344),
            "gtid": None,
            "file": "mysql-bin.000041" if is_snapshot else f"mysql-bin.{event.file:06d}",
            "pos": Bare(157 if is_snapshot else event.offset),
            "row": Bare(0 if is_snapshot else row),
            "thread": None,
            "query": None,
        }

    def whole(self, fields, payload):
        schema = {"type": "struct", "fields": fields, "optional": False}
        return to_json({"schema": schema, "payload": payload}).encode()

    def key(self, table, row):
        columns = table.key_columns
        values = {c.name: self.value(c, row[c.name]) for c in columns}
        return self.whole(self.fields(columns), values)

    def fields(self, columns):
        return [self.field(column) for column in columns]

    def field(self, column):
        connect, semantic = TYPES[column.kind]
        field = {"type": connect, "optional": True}
        if semantic:
            field |= {"name": semantic, "version": Bare(1)}
        if column.kind in PARAMETERS:
            field["parameters"] = PARAMETERS[column.kind]
        return {**field, "field": column.name}

    def values(self, table, row):
        if row is None:
            return None
        return {column.name: self.value(column, row[column.name]) for column in table.columns}

    def carried(self, column, value):
        if column.kind in ("date", "datetime") and "-00" in value[:10]:
            return None
        return value

    def value(self, column, value):
        value, kind = None if value is None else self.carried(column, value), column.kind
        if value is None:
            return None
        if kind in BINARY:
            return base64(value)
        if kind == "bit":
            return base64(value.to_bytes(3, "little"))
        if kind == "unsigned":
            return base64(big_integer(value))
        if kind in ("decimal", "price"):
            return base64(unscaled(value))
        if kind == "date":
            return Bare((date.fromisoformat(value) - EPOCH.date()).days)
        if kind == "time":
            return Bare(microseconds(value))
        if kind == "datetime":
            whole, fraction = value.split(".")
            seconds = (datetime.fromisoformat(whole) - EPOCH).total_seconds()
            return Bare(int(seconds) * 1_000_000 + int(fraction))
        if kind == "timestamp":
            return trimmed(value).replace(" ", "T") + "Z"
        if kind == "float":
            return Bare(java_float(value))
        if kind == "double":
            return Bare(java_double(value))
        return value if isinstance(value, str) else Bare(value)

    def text(self, column, value):
        return str(value) if column.kind == "year" else super().text(column, value)

    def mark(self, event):
        return self.whole([], self.said(event))

    def said(self, event):
        """What a message says that is no change of a row."""
        moment = Bare(event.seconds * 1000)
        if event.kind == HEARTBEAT:
            return {"ts_ms": moment}
        if event.kind == TRUNCATE:
            images = {"before": None, "after": None, "source": self.source(event, 0)}
            return images | {"op": "t", "ts_ms": moment, "transaction": None}
        if event.kind == SCHEMA_CHANGE:
            names = {"databaseName": DATABASE, "schemaName": None, "ddl": event.sql}
            source = {"source": self.source(event, 0), "ts_ms": moment}
            return source | names | {"tableChanges": []}
        status = {"status": event.kind.rpartition("_")[2].upper(), "id": self.transaction(event)}
        return status | {"event_count": None, "data_collections": None, "ts_ms": moment}


class DebeziumOfRegistry(DebeziumJson):
    """Messages and keys in bytes, behind the ids of their schemas, which `ids` has by name."""

    def row(self, event, number, before, after):
        return self.framed(event.table.name, self.envelope(event, number, before, after))

    def key(self, table, row):
        return self.framed(f"{table.name}-key", self.values(table, row))

    def mark(self, event):
        name = event.table.name if event.kind == "truncate" else event.kind
        return self.framed("end" if name.startswith("transaction") else name, self.said(event))

    def framed(self, name, values):
        # A table that is named for the format has the schema of the one that it is made of.
        return self.bytes_of(self.ids[name.replace(f"_{self.format}", "")], values)


class DebeziumFlatJson(DebeziumJson):
    """The same through ExtractNewRecordState with `add.fields = op,table,db,source.ts_ms`.

    Deletes are rewritten as rows.
    """

    format = "debezium_flat_json"
    cannot_say = {"all but rows": "the transform drops it"}
    marks = ()
    has_position = False
    tells_copies = False
    has_tombstones = False

    def changes(self, event):
        """Only a delete has the row that was."""
        found = super().changes(event)
        return [c if c.operation == "delete" else replace(c, before=None) for c in found]

    def row(self, event, number, before, after):
        row = before if after is None else after
        added = {
            "__op": "r" if event.kind == "snapshot" else self.operation(before, after),
            "__table": event.table.name,
            "__db": DATABASE,
            "__source_ts_ms": Bare(event.seconds * 1000),
            "__deleted": "true" if after is None else "false",
        }
        fields = self.fields(event.table.columns)
        fields += [{"type": "string", "optional": True, "field": name} for name in added]
        return self.whole(fields, self.values(event.table, row) | added)

    def mark(self, event):
        raise NotImplementedError
