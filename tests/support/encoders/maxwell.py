"""Maxwell's daemon: "Data format", with positions, numbers in transactions and key columns."""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

import json
from base64 import b64encode

from history import DATABASE

from encoders.base import (
    BASE64,
    BINARY,
    HEARTBEAT,
    SCHEMA_CHANGE,
    Bare,
    Encoder,
    changed,
    document,
    to_json,
)
from encoders.dts import mysql_text

NUMBERS = ("tinyint", "smallint", "mediumint", "int", "bigint", "unsigned", "decimal", "price")
NUMBERS += ("float", "double", "bit")


class Maxwell(Encoder):
    format = "maxwell"
    cannot_say = {
        "types": "no types: bytes stay Base64, a SET a list",
        "TRUNCATE": "Maxwell writes none",
        "heartbeats": "none",
        "transactions": "no marks, only their numbers",
    }
    marks = (SCHEMA_CHANGE,)
    has_snapshot_position = False
    bytes_in_gold = BASE64
    words = {"snapshot": "bootstrap-insert", SCHEMA_CHANGE: "table-alter"}

    def value(self, column, value):
        text = mysql_text(column, value)
        if value is None:
            return None
        if column.kind in BINARY:
            return b64encode(text).decode()
        if column.kind in NUMBERS:
            return Bare(text)
        if column.kind == "year":
            return Bare(value)
        if column.kind == "set":
            return value.split(",") if value else []
        return document(value) if column.kind == "json" else text

    def text(self, column, value):
        sent = self.value(column, value)
        return json.dumps(sent, separators=(",", ":")) if isinstance(sent, list) else str(sent)

    def values(self, table, row):
        return {column.name: self.value(column, row[column.name]) for column in table.columns}

    def row(self, event, number, before, after):
        table, row = event.table, after or before
        message = {
            "database": DATABASE,
            "table": table.name,
            "type": self.words.get(event.kind, event.kind),
            "ts": Bare(event.seconds),
        }
        if event.kind != "snapshot":
            last = event.first_row + number == event.transaction_size
            message |= {
                "xid": Bare(event.transaction),
                **({"commit": True} if last else {"xoffset": Bare(event.first_row + number)}),
                "position": f"mysql-bin.{event.file:06d}:{event.offset}",
            }
        values = self.values(table, row)
        message["primary_key"] = [values[name] for name in table.key]
        message |= {"primary_key_columns": list(table.key), "data": values}
        if event.kind == "update":
            old = self.values(table, before)
            message["old"] = {name: old[name] for name in changed(before, after)}
        return to_json(message).encode()

    def mark(self, event):
        name = event.table.name if event.table else "everything"
        return to_json(
            {
                "type": self.words[event.kind],
                "database": DATABASE,
                "table": name,
                "old": {"database": DATABASE, "table": name, "columns": []},
                "def": {"database": DATABASE, "table": name, "columns": []},
                "ts": Bare(event.seconds * 1000),
                "sql": event.sql,
                "position": f"mysql-bin.{event.file:06d}:{event.offset}",
            }
        ).encode()


class OmsMaxwell(Maxwell):
    """The same envelope by OceanBase Migration Service: seconds, and no places."""

    format = "oms_maxwell"
    cannot_say = {
        "types": "no types: bytes stay Base64, a SET a list",
        "TRUNCATE": "no type of its own",
        "transactions": "no marks, only their numbers",
    }
    marks = (SCHEMA_CHANGE, HEARTBEAT)
    has_position = False
    tells_copies = False
    words = {SCHEMA_CHANGE: "table-alter"}

    def value(self, column, value):
        if column.kind == "bit" and value is not None:
            return b64encode(value.to_bytes(max(1, -(-value.bit_length() // 8)), "big")).decode()
        return super().value(column, value)

    def gold_expression(self, column):
        if column.kind == "bit":
            number = f"conv(hex(try_to_binary(image['{column.name}'], 'base64')), 16, 10)"
            return f"try_cast({number} as bigint)"
        return super().gold_expression(column)

    def envelope(self, event, **said):
        is_row = event.kind in ("snapshot", "insert", "update", "delete")
        none = dict.fromkeys(("primary_key", "primary_key_columns", "data", "old", "sql", "def"))
        return {
            "database": DATABASE if event.table else None,
            "table": event.table and event.table.name,
            "type": self.words.get(event.kind, event.kind),
            "ts": Bare(event.seconds * (1 if is_row else 1000)),
            "xid": f"1002_{event.transaction}" if is_row else None,
            "commit": True,
            "position": str(event.seconds),
            **none,
            **said,
        }

    def row(self, event, number, before, after):
        table = event.table
        values = self.values(table, after or before)
        message = self.envelope(
            event,
            primary_key=[str(values[name]) for name in table.key],
            primary_key_columns=list(table.key),
            data=values,
        )
        if event.kind == "snapshot":
            message |= {"type": "insert", "ts": Bare(1_600_000_000), "xid": None}
        if event.kind == "update":
            message["old"] = self.values(table, before)
        return to_json(message).encode()

    def mark(self, event):
        return to_json(self.envelope(event, sql=event.sql)).encode()
