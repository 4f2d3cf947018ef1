"""Debezium 3.2: "Debezium connector for MongoDB", with pre-images and full documents.

Documents are in the default mode of `json.serialization.mode`, keys in that of all keys.
"""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

from dataclasses import replace

from history import DATABASE

from encoders.base import (
    BEGIN,
    BINARY,
    END,
    HEARTBEAT,
    Bare,
    java_double,
    java_float,
    to_json,
    trimmed,
)
from encoders.debezium import DebeziumJson, base64

KEY, DOCUMENT = "_id", "document"


class DebeziumMongodb(DebeziumJson):
    format = "debezium_mongodb"
    cannot_say = {"statements": "MongoDB has none, and its connector sends no truncate"}
    marks = (HEARTBEAT, BEGIN, END)
    has_position = False
    tells_copies = False
    has_tombstones = False
    adds_first, adds = (KEY,), (DOCUMENT,)

    def changes(self, event):
        """The document of an update replaces the one before, and the key is `_id` alone."""
        return [
            replace(
                change,
                operation="insert" if change.operation == "update" else change.operation,
                key_columns=[KEY],
            )
            for change in super().changes(event)
        ]

    def row(self, event, number, before, after):
        json = {"type": "string", "optional": True, "name": "io.debezium.data.Json"}
        images = [{**json, "version": Bare(1), "field": part} for part in ("before", "after")]
        return self.whole(images, self.envelope(event, number, before, after))

    def envelope(self, event, number, before, after):
        envelope = super().envelope(event, number, before, after)
        if envelope["op"] == "u":
            updated = {n: v for n, v in envelope["after"].items() if v != envelope["before"][n]}
            removed = {"removedFields": None, "truncatedArrays": None}
            envelope["updateDescription"] = {**removed, "updatedFields": written(updated)}
        for part in ("before", "after"):
            envelope[part] = envelope[part] and written(envelope[part])
        return envelope

    def source(self, event, row):
        return {
            "version": "3.2.0.Final",
            "connector": "mongodb",
            "name": "dbz",
            "ts_ms": Bare(event.seconds * 1000),
            "snapshot": "true" if event.kind == "snapshot" else "false",
            "db": DATABASE,
            "rs": "rs0",
            "collection": event.table.name,
            "ord": Bare(row + 1),
            "lsid": None,
            "txnNumber": None,
        }

    def key(self, table, row):
        fields = [{"type": "string", "optional": False, "field": "id"}]
        return self.whole(fields, {"id": to_json(self.id(table, row, is_key=True))})

    def id(self, table, row, is_key):
        """The key of a row as `_id`: a value, or an object of several."""
        values = {c.name: self.value(c, row[c.name]) for c in table.key_columns}
        if is_key:
            values = {name: relaxed(value) for name, value in values.items()}
        return values if len(values) > 1 else next(iter(values.values()))

    def values(self, table, row):
        if row is None:
            return None
        return {KEY: self.id(table, row, is_key=False), **super().values(table, row)}

    def carried(self, column, value):
        return value

    def value(self, column, value):
        kind = column.kind
        if value is None:
            return None
        if kind in BINARY:
            return {"$binary": base64(value), "$type": "00"}
        if kind in ("bigint", "bit"):
            return {"$numberLong": str(value)}
        if kind in ("unsigned", "price"):
            return {"$numberDecimal": f"{value:f}" if kind == "price" else str(value)}
        if kind == "float":
            return Bare(java_float(value))
        if kind == "double":
            return Bare(java_double(value))
        if kind == "decimal":  # of more digits than MongoDB's has
            return f"{value:f}"
        if kind in ("time", "datetime", "timestamp"):
            return trimmed(value)
        return value if isinstance(value, str) else Bare(value)

    def image(self, table, row):
        if row is None:
            return None
        found = self.id(table, row, is_key=True)
        key = to_json(found) if isinstance(found, dict) else plain(found)
        return {**super().image(table, row), KEY: key, DOCUMENT: to_json(self.values(table, row))}


def written(document):
    """A document as Java's writer of BSON has it, with a blank behind the name of a field."""
    return "{" + ",".join(f"{to_json(name)}: {to_json(v)}" for name, v in document.items()) + "}"


def relaxed(value):
    """A value as keys have it: long integers are plain there."""
    return (
        Bare(value["$numberLong"]) if isinstance(value, dict) and "$numberLong" in value else value
    )


def plain(value):
    """The canonical text of a value of a key."""
    return str(next(iter(value.values()))) if isinstance(value, dict) else str(value)
