"""TiCDC: "TiCDC Canal-JSON Protocol", with TiDB's extension, and "TiCDC Simple Protocol"."""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

import re
from base64 import b64encode
from dataclasses import replace
from decimal import Decimal

from history import DATABASE

from encoders.base import BASE64, BINARY, HEARTBEAT, SCHEMA_CHANGE, TRUNCATE, Bare, changed, to_json
from encoders.dts import SHANGHAI, Canal, mysql_text


def commit_ts(event):
    """The timestamp of a transaction: milliseconds, and below them 18 bits of a counter."""
    return (event.seconds * 1000 << 18) + event.number


def split(event):
    """Return (operation, before, after) of each row; a row that gets another key is two."""
    rows = []
    for before, after in event.rows:
        moves = before and after and event.table.key_of(before) != event.table.key_of(after)
        # With `output-raw-change-event` it is one.
        if moves and event.number % 2:
            rows += [("delete", before, None), ("insert", None, after)]
        else:
            rows.append(("insert" if event.kind == "snapshot" else event.kind, before, after))
    return sorted(rows, key=lambda row: row[0] != "delete")


def tidb_text(column, value, zone):
    """A value as TiCDC prints it: no exponents, members of ENUM and SET as numbers."""
    if column.kind in ("float", "double"):
        return f"{Decimal(mysql_text(column, value)):f}"
    if column.kind == "enum":
        return str(column.labels.index(value) + 1)
    if column.kind == "set":
        return str(sum(1 << column.labels.index(tag) for tag in value.split(",") if tag))
    return str(value) if column.kind == "year" else mysql_text(column, value, zone)


class Ticdc(Canal):
    """What both protocols have in common."""

    zone = SHANGHAI
    marks = (SCHEMA_CHANGE, TRUNCATE, HEARTBEAT)

    def changes(self, event):
        if event.kind not in ("snapshot", "insert", "update", "delete"):
            return []
        rows = [(kind, (before, after)) for kind, before, after in split(event)]
        parts = [super(Ticdc, self).changes(replace(event, kind=k, rows=[r])) for k, r in rows]
        return [change for changes in parts for change in changes]

    def rows(self, event):
        return [self.row(event, *row) for row in split(event)]

    def text(self, column, value):
        if column.kind in ("enum", "set", "year"):
            return tidb_text(column, value, self.zone)
        return super().text(column, value)


class TidbCanal(Ticdc):
    format = "tidb_canal"
    route = {"time_zone": "Asia/Shanghai"}
    cannot_say = {
        "full load": "TiCDC sends none",
        "labels": "ENUM and SET are numbers whose types name no labels",
        "transactions": "no marks, only their timestamps",
    }
    words = {SCHEMA_CHANGE: "ALTER", HEARTBEAT: "TIDB_WATERMARK"}

    def types(self, column):
        return re.sub(r"\(.*\)", "", column.mysql_type)

    def value(self, column, value):
        text = None if value is None else tidb_text(column, value, self.zone)
        return text.decode("latin-1") if isinstance(text, bytes) else text

    def envelope(self, event):
        name = "watermarkTs" if event.kind == HEARTBEAT else "commitTs"
        extension = {name: Bare(commit_ts(event))}
        return {**super().envelope(event), "id": Bare(0), "_tidb": extension}

    def row(self, event, operation, before, after):
        columns = event.table.columns
        old = before if operation == "update" else None
        if old and event.number % 3:
            # With `only-output-updated-columns`.
            old = changed(before, after)
        message = {
            **self.envelope(event),
            "type": operation.upper(),
            "pkNames": list(event.table.key),
            "mysqlType": {column.name: self.types(column) for column in columns},
            "sqlType": {column.name: 12 for column in columns},
            "old": None if old is None else [self.part(event.table, old)],
            "data": [self.values(event.table, after or before)],
        }
        return to_json(message).encode()

    def part(self, table, row):
        return {c.name: self.value(c, row[c.name]) for c in table.columns if c.name in row}


class TicdcSimple(Ticdc):
    format = "ticdc_simple"
    cannot_say = {
        "full load": "TiCDC sends none",
        "types": "messages of rows carry none: bytes stay Base64, ENUM and SET numbers",
        "key": "messages of rows name none",
        "transactions": "no marks, only their timestamps",
    }
    words = {SCHEMA_CHANGE: "ALTER", HEARTBEAT: "WATERMARK"}
    bytes_in_gold = BASE64
    names_key = False

    def value(self, column, value):
        text = None if value is None else tidb_text(column, value, self.zone)
        if isinstance(text, bytes):
            return b64encode(text).decode()
        if text is not None and column.kind == "timestamp":
            return {"location": "Asia/Shanghai", "value": text}
        return text

    def text(self, column, value):
        if column.kind in (*BINARY, "time", "datetime"):
            return self.value(column, value)
        return super().text(column, value)

    def envelope(self, event, operation):
        times = {"commitTs": Bare(commit_ts(event)), "buildTs": Bare(event.seconds * 1000 + 771)}
        return {"version": Bare(1), "type": operation, **times}

    def row(self, event, operation, before, after):
        table = event.table
        message = {
            **self.envelope(event, operation.upper()),
            "database": DATABASE,
            "table": table.name,
            "tableID": Bare(148),
            "schemaVersion": Bare(445644799999999990),
        }
        images = {"data": after, "old": before}
        message |= {name: self.values(table, row) for name, row in images.items() if row}
        return to_json(message).encode()

    def mark(self, event):
        message = self.envelope(event, self.words.get(event.kind, event.kind.upper()))
        if event.table:
            schema = {"schema": DATABASE, "table": event.table.name, "tableID": Bare(148)}
            message |= {"sql": event.sql, "tableSchema": schema, "preTableSchema": schema}
        return to_json(message).encode()
