"""AWS DMS: "Using Apache Kafka as a target", with transaction details and before images of keys."""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from history import DATABASE

from encoders.base import BINARY, SCHEMA_CHANGE, TRUNCATE, AsSent, Bare, Encoder, to_json
from encoders.dts import mysql_text
from encoders.maxwell import NUMBERS

START = datetime(2030, 1, 1, tzinfo=UTC)


class AwsDms(AsSent, Encoder):
    """Of MySQL, with `IncludeNullAndEmpty`."""

    format = "aws_dms"
    cannot_say = {
        "types": "no types: bytes stay hex with 0x before it, times have a T and a Z",
        "key": "its values alone, in the key of the partition",
        "before images": "of an update the key, of a delete what is not null",
        "copies": "no place of a change, only the time of its message",
        "heartbeats": "none",
        "transactions": "no marks, only their numbers",
    }
    marks = (SCHEMA_CHANGE, TRUNCATE)
    words = {"snapshot": "load", SCHEMA_CHANGE: "change-columns", TRUNCATE: "truncate-table"}
    tells_copies = False
    bytes_in_gold = "try_to_binary(substr({}, 3), 'hex')"
    names_key = False

    def value(self, column, value):
        if value is None:
            return None
        if column.kind in BINARY:
            return f"0x{value.hex().upper()}"
        text = mysql_text(column, value)
        if column.kind in ("datetime", "timestamp"):
            return text.replace(" ", "T") + "Z"
        if column.kind == "year":
            return Bare(value)
        return Bare(text) if column.kind in NUMBERS else text

    def gold_expression(self, column):
        if column.kind == "datetime":
            return f"try_cast(rtrim('Z', image['{column.name}']) as timestamp_ntz)"
        return super().gold_expression(column)

    def changes(self, event):
        found = super().changes(event)
        for number, (change, (before, _)) in enumerate(zip(found, event.rows, strict=True)):
            if change.operation == "update":
                image = self.image(event.table, before)
                image = {name: image[name] for name in event.table.key}
            elif change.operation == "delete":
                image = {n: text for n, text in change.before.items() if text is not None}
            else:
                continue
            found[number] = replace(change, before=image)
        return found

    def metadata(self, event, number, record_type, key_type):
        # DMS builds one message after the other.
        built = START + timedelta(microseconds=event.first_id + number)
        said = {
            "timestamp": built.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "record-type": record_type,
            "operation": self.words.get(event.kind, event.kind),
            "partition-key-type": key_type,
            "schema-name": DATABASE,
            "table-name": event.table.name,
        }
        if event.kind in ("insert", "update", "delete"):
            committed = datetime.fromtimestamp(event.seconds, UTC)
            said |= {
                "transaction-id": Bare(event.transaction),
                "transaction-record-id": Bare(event.first_row + number),
                "commit-timestamp": committed.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                "stream-position": f"mysql-bin.{event.file:06d}:{event.offset}",
            }
        return said

    def row(self, event, number, before, after):
        table, row = event.table, after or before
        message = {"data": {c.name: self.value(c, row[c.name]) for c in table.columns}}
        if event.kind == "update":
            keys = [column for column in table.columns if column.name in table.key]
            message["before-image"] = {c.name: self.value(c, before[c.name]) for c in keys}
        message["metadata"] = self.metadata(event, number, "data", "primary-key")
        return to_json(message).encode()

    def mark(self, event):
        metadata = self.metadata(event, 0, "control", "task-id")
        return to_json({"control": {}, "metadata": metadata}).encode()
