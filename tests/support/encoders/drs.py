"""Huawei Cloud Data Replication Service: "Kafka Message Format"."""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

import json
from datetime import UTC, datetime

from encoders.base import (
    BINARY,
    SCHEMA_CHANGE,
    TRUNCATE,
)
from encoders.dts import SHANGHAI, Canal, DtsAvro, dts_schema
from encoders.oms import EPOCH


class DrsJson(Canal):
    format = "drs_json"
    cannot_say = {
        "transactions": "no field",
        "heartbeats": "none",
        "microseconds of a TIMESTAMP": "the example has seconds with three digits",
    }
    words = {"snapshot": "INIT", SCHEMA_CHANGE: "DDL", TRUNCATE: "DDL"}
    types = staticmethod(lambda column: column.mysql_type.split("(")[0])
    deleted_row = "old"

    def carried(self, column, value):
        return value[:-3] if column.kind == "timestamp" else value

    def value(self, column, value):
        if value is not None and column.kind in BINARY:
            # The text of a Java array, whose bytes are signed.
            return str([byte - 256 if byte > 127 else byte for byte in value])
        if value is not None and column.kind == "timestamp":
            return self.timestamp(self.carried(column, value))
        return super().value(column, value)

    def timestamp(self, value):
        whole, millis = value.split(".")
        moment = datetime.fromisoformat(whole).replace(tzinfo=UTC)
        return f"{int((moment - EPOCH).total_seconds())}.{millis}"

    def old_rows(self, event):
        return [self.values(event.table, before) for before, _ in event.rows]

    def place(self, event):
        if event.kind != "delete":
            return super().place(event)
        deleted = self.old_rows(event)
        return {"data": None, "old": None, self.deleted_row: deleted}

    def rows(self, event):
        # Gson escapes these five, whether or not it has to.
        [text] = super().rows(event)
        for sign in b"<>&='":
            text = text.replace(bytes([sign]), b"\\u%04x" % sign)
        return [text]


class DrsJsonC(DrsJson):
    format = "drs_json_c"
    route = {"time_zone": "Asia/Shanghai"}
    zone = SHANGHAI
    cannot_say = {
        "transactions": "no field",
        "heartbeats": "none",
        "fraction of a TIMESTAMP": "the text is yyyy-mm-dd hh:mm:ss",
    }
    deleted_row = "data"

    def carried(self, column, value):
        return value.split(".")[0] if column.kind == "timestamp" else value

    def timestamp(self, value):
        moment = datetime.fromisoformat(value).replace(tzinfo=UTC)
        return moment.astimezone(self.zone).strftime("%Y-%m-%d %H:%M:%S")


class DrsAvro(DtsAvro):
    """The vendor's schema is not public; a user gives his own, here one that is like DTS's."""

    format = "drs_avro"
    namespace = "com.example.drs.avro"
    route = {"avro_schema": "avro/laboratory_drs.avsc"}

    def write_schemas(self, path):
        path.write_text(json.dumps(dts_schema(self.namespace)))
