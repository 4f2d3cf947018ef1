"""Google Cloud Datastream to Cloud Storage as JSON: "Events and streams", "Unified types"."""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

from base64 import b64encode
from datetime import UTC, datetime

from history import DATABASE

from encoders.base import (
    BASE64,
    BINARY,
    ROW_KINDS,
    AsSent,
    Bare,
    Change,
    Encoder,
    document,
    to_json,
)
from encoders.debezium import microseconds
from encoders.dts import mysql_text
from encoders.maxwell import NUMBERS


class DatastreamJson(AsSent, Encoder):
    format = "datastream_json"
    cannot_say = {
        "types": "no types: bytes stay Base64, an interval a number",
        "TRUNCATE": "none",
        "statements": "none",
        "heartbeats": "none",
        "transactions": "none of MySQL",
        "days that are none": "null here; the document does not say",
        "old values of an update": "an update says the row after it alone",
    }
    has_snapshot_position = False
    bytes_in_gold = BASE64
    # Rows of a statement share their place.
    tells_copies = False

    def carried(self, column, value):
        return None if column.kind in ("date", "datetime") and "-00" in value[:10] else value

    def value(self, column, value):
        value, kind = None if value is None else self.carried(column, value), column.kind
        if value is None:
            return None
        if kind in BINARY:
            return b64encode(value).decode()
        if kind in NUMBERS:
            return Bare(mysql_text(column, value))
        if kind == "year":
            return Bare(value)
        if kind == "time":
            return Bare(microseconds(value))
        if kind in ("datetime", "timestamp"):
            return value.replace(" ", "T") + ("Z" if kind == "timestamp" else "")
        return document(value) if kind == "json" else mysql_text(column, value)

    def split(self, event):
        """An update of the key is sent as two events."""
        for before, after in event.rows:
            if event.kind != "update":
                yield event.kind.upper(), before, after
            elif event.table.key_of(before) == event.table.key_of(after):
                yield "UPDATE-INSERT", None, after
            else:
                yield "UPDATE-DELETE", before, None
                yield "UPDATE-INSERT", None, after

    def encode(self, event):
        if event.kind not in ROW_KINDS:
            return []
        return [(self.row(event, *change), "row_change") for change in self.split(event)]

    def changes(self, event):
        if event.kind not in ROW_KINDS:
            return []
        return [
            Change(
                event.table.name,
                "delete" if change == "UPDATE-DELETE" else event.kind,
                self.image(event.table, before),
                self.image(event.table, after),
                list(event.table.key),
            )
            for change, before, after in self.split(event)
        ]

    def row(self, event, change, before, after):
        table, is_backfill = event.table, event.kind == "snapshot"
        place = ["", Bare(0)] if is_backfill else [f"bin.{event.file:06d}", Bare(event.offset)]
        time = datetime.fromtimestamp(event.seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.")
        return to_json(
            {
                "uuid": f"d7989206-380f-0e81-8056-{event.number:012x}",
                "read_timestamp": f"{time}345Z",
                "source_timestamp": f"{time}000Z",
                "object": f"{DATABASE}_{table.name}",
                "read_method": "mysql-backfill-fulldump" if is_backfill else "mysql-cdc-binlog",
                "stream_name": "projects/1/locations/here/streams/lab",
                "schema_key": "8c0972982087b235becf90b60a52554e7f3774ff",
                "sort_keys": [Bare(event.seconds * 1000), *place],
                "source_metadata": {
                    "table": table.name,
                    "database": DATABASE,
                    "primary_keys": list(table.key),
                    "log_file": place[0],
                    "log_position": place[1],
                    "change_type": "INSERT" if is_backfill else change,
                    "is_deleted": Bare("true" if after is None else "false"),
                },
                "payload": {
                    column.name: self.value(column, (after or before)[column.name])
                    for column in table.columns
                },
            }
        ).encode()
