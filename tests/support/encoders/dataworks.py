"""DataWorks Data Integration to Kafka: "Appendix: Message format"."""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

from base64 import b64encode
from datetime import UTC, datetime, timedelta

from history import DATABASE

from encoders.base import (
    BEGIN,
    BINARY,
    END,
    HEARTBEAT,
    SCHEMA_CHANGE,
    TRUNCATE,
    Bare,
    Encoder,
    document,
    java_double,
    java_float,
    to_json,
    trimmed,
)
from encoders.oms import EPOCH, as_bytes

TYPES = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "year"), "LONG"),
    **dict.fromkeys(("bigint", "unsigned"), "LONG"),
    **dict.fromkeys(("decimal", "price", "float", "double"), "DOUBLE"),
    **dict.fromkeys(("char", "varchar", "text", "enum", "set", "json", "time"), "STRING"),
    **dict.fromkeys(("date", "datetime", "timestamp"), "DATE"),
    **dict.fromkeys((*BINARY, "bit"), "BYTES"),
}


class DataworksKafka(Encoder):
    format = "dataworks_kafka"
    cannot_say = {
        "more than six types": "a bit string comes as bytes, a date as milliseconds",
        "zero dates": "milliseconds since 1970 have none: they come as null",
        "microseconds": "DATE has milliseconds",
        "place of a row of the full load": "its sequenceId is -1",
    }
    marks = (SCHEMA_CHANGE, TRUNCATE, HEARTBEAT, BEGIN, END)
    has_snapshot_position = False
    words = {"snapshot": "INSERT", SCHEMA_CHANGE: "ALTER", HEARTBEAT: "MHEARTBEAT"}

    def carried(self, column, value):
        if TYPES[column.kind] != "DATE":
            return value
        if "-00" in value:
            return None
        return value[:-3] if "." in value else value

    def text(self, column, value):
        if column.kind == "bit":
            return as_bytes(value).hex()
        if column.kind == "year":
            return str(value)
        # Every DATE becomes the text of a date and time.
        return f"{value} 00:00:00" if column.kind == "date" else super().text(column, value)

    def gold_expression(self, column):
        if column.kind == "bit":
            return f"cast(conv(image['{column.name}'], 16, 10) as bigint)"
        return super().gold_expression(column)

    def value(self, column, value):
        value = None if value is None else self.carried(column, value)
        if value is None:
            return None
        if column.kind in BINARY or column.kind == "bit":
            return b64encode(value if column.kind in BINARY else as_bytes(value)).decode()
        if TYPES[column.kind] == "DATE":
            moment = datetime.fromisoformat(value).replace(tzinfo=UTC)
            return Bare((moment - EPOCH) // timedelta(milliseconds=1))
        if column.kind == "time":
            return trimmed(value)
        if column.kind in ("decimal", "price"):
            return f"{value:f}"
        if column.kind == "json":
            return document(value)
        if column.kind == "float":
            return Bare(java_float(value))
        if column.kind == "double":
            return Bare(java_double(value))
        return value if isinstance(value, str) else Bare(value)

    def image_of(self, table, row):
        if row is None:
            return None
        return {"dataColumn": {c.name: self.value(c, row[c.name]) for c in table.columns}}

    def message(self, event, number=0, op=None, before=None, after=None):
        table = event.table
        is_full_load = event.kind == "snapshot"
        time = -1 if is_full_load else event.seconds * 1000
        source = {"dbType": "MySQL", "dbName": DATABASE, "tableName": table and table.name}
        columns = None
        if event.rows:
            columns = [{"name": c.name, "type": TYPES[c.kind]} for c in table.columns]
        sequence = f"{event.seconds * 1000}{event.counter + number:06d}"
        message = {
            "schema": {
                "dataColumn": columns,
                "primaryKey": list(table.key) if event.rows else None,
                "source": source if table else None,
            },
            "payload": {
                "before": self.image_of(table, before),
                "after": self.image_of(table, after),
                "sequenceId": "-1" if is_full_load else sequence,
                "timestamp": {
                    "eventTime": Bare(time),
                    "systemTime": Bare(event.seconds * 1000 + 977),
                    "checkpointTime": Bare(time),
                },
                "op": op or self.words.get(event.kind, event.kind.upper()),
                "ddl": {"text": event.sql, "ddlMeta": "rO0ABXNy"} if event.sql else None,
            },
            "version": "0.0.1",
        }
        return to_json(message).encode()

    def rows(self, event):
        messages = []
        for number, (before, after) in enumerate(event.rows):
            if event.kind != "update":
                messages.append(self.message(event, number, None, before, after))
            elif event.number % 3 == 0:
                # The task's option "one Kafka record for one record in the source".
                messages.append(self.message(event, number, "UPDATE_AFTER", before, after))
            else:
                messages.append(self.message(event, number, "UPDATE_BEFOR", before, None))
                messages.append(self.message(event, number, "UPDATE_AFTER", None, after))
        return messages

    def mark(self, event):
        return self.message(event)
