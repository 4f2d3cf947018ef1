"""Oracle GoldenGate for Big Data: "JSON formatter", operation modeled, from a trail of MySQL."""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

from base64 import b64encode
from datetime import UTC, datetime

from history import DATABASE

from encoders.base import BASE64, BINARY, TRUNCATE, AsSent, Bare, Encoder, to_json
from encoders.dts import mysql_text
from encoders.maxwell import NUMBERS


class GoldengateJson(AsSent, Encoder):
    """With the primary keys and the transaction among the columns of the metadata."""

    format = "goldengate_json"
    cannot_say = {
        "types": "no types: bytes stay Base64",
        "full load": "I is the only word for a new row",
        "statements": "of DDL only TRUNCATE",
        "heartbeats": "none",
        "transactions": "no marks, only their identifiers",
    }
    marks = (TRUNCATE,)
    bytes_in_gold = BASE64
    operations = {"snapshot": "insert"}
    words = {"snapshot": "I", "insert": "I", "update": "U", "delete": "D", TRUNCATE: "T"}

    def value(self, column, value):
        if value is None:
            return None
        if column.kind in BINARY:
            return b64encode(value).decode()
        text = mysql_text(column, value)
        if column.kind == "year":
            return Bare(value)
        return Bare(text) if column.kind in NUMBERS else text

    def message(self, event, number, **images):
        time = datetime.fromtimestamp(event.seconds, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
        return {
            "table": f"{DATABASE}.{event.table.name}",
            "op_type": self.words[event.kind],
            "op_ts": time,
            "current_ts": time,
            "pos": f"{event.first_id + number:020d}",
            "xid": f"0.{event.transaction}",
            "primary_keys": list(event.table.key),
            "tokens": {"TK-HOST": "source"},
            **images,
        }

    def row(self, event, number, before, after):
        images = {}
        for name, row in (("before", before), ("after", after)):
            if row is not None:
                columns = event.table.columns
                images[name] = {c.name: self.value(c, row[c.name]) for c in columns}
        return to_json(self.message(event, number, **images)).encode()

    def mark(self, event):
        return to_json(self.message(event, 0)).encode()
