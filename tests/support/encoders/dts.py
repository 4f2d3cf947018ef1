"""Alibaba Cloud Data Transmission Service: "Data formats in a message queue", and for Avro the
schema that the page refers to."""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

import json
from base64 import b64encode
from datetime import UTC, datetime, timedelta, timezone
from io import BytesIO

from fastavro import parse_schema, schemaless_writer
from history import DATABASE

from encoders.base import (
    BASE64,
    BEGIN,
    BINARY,
    END,
    HEARTBEAT,
    SCHEMA_CHANGE,
    TRUNCATE,
    Bare,
    Encoder,
    changed,
    document,
    java_double,
    java_float,
    to_json,
)

SHANGHAI = timezone(timedelta(hours=8))


def mysql_text(column, value, zone=UTC):
    """A value as MySQL prints it: all digits of fractions, a TIMESTAMP in the reader's zone."""
    kind = column.kind
    if value is None or isinstance(value, bytes):
        return value
    if kind == "float":
        return java_float(value)
    if kind == "double":
        return java_double(value)
    if kind in ("decimal", "price"):
        return f"{value:f}"
    if kind == "year":
        return f"{value:04d}"
    if kind == "timestamp":
        moment = datetime.fromisoformat(value).replace(tzinfo=UTC).astimezone(zone)
        return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond:06d}"
    return str(value)


class Canal(Encoder):
    """The envelope of Canal: one message per statement, values as texts."""

    zone = UTC
    marks = (SCHEMA_CHANGE, TRUNCATE)
    types = staticmethod(lambda column: column.mysql_type)
    words = {}

    def envelope(self, event):
        return {
            "data": None,
            "database": DATABASE,
            "es": Bare(event.seconds * 1000),
            "id": Bare(event.first_id),
            "isDdl": event.sql is not None,
            "mysqlType": None,
            "old": None,
            "pkNames": None,
            "sql": event.sql or "",
            "sqlType": None,
            "table": event.table.name if event.table else "",
            "ts": Bare(event.seconds * 1000 + 771),
            "type": self.words.get(event.kind, event.kind.upper()),
        }

    def value(self, column, value):
        if value is not None and column.kind == "json":
            return document(value)
        text = mysql_text(column, value, self.zone)
        return text.decode("latin-1") if isinstance(text, bytes) else text

    def values(self, table, row):
        return {column.name: self.value(column, row[column.name]) for column in table.columns}

    def old_rows(self, event):
        """The columns that a row of the statement changed, as they were, for all its rows."""
        names = {name for before, after in event.rows for name in changed(before, after)}
        olds = [self.values(event.table, before) for before, _ in event.rows]
        return [{name: text for name, text in old.items() if name in names} for old in olds]

    def place(self, event):
        """Return which of `data` and `old` hold what."""
        rows = [self.values(event.table, after or before) for before, after in event.rows]
        return {"data": rows, "old": self.old_rows(event) if event.kind == "update" else None}

    def rows(self, event):
        columns = event.table.columns
        message = {
            **self.envelope(event),
            "pkNames": list(event.table.key),
            "mysqlType": {column.name: self.types(column) for column in columns},
            "sqlType": {column.name: 12 for column in columns},
            **self.place(event),
        }
        return [to_json(message).encode()]

    def mark(self, event):
        return to_json(self.envelope(event)).encode()


class DtsCanal(Canal):
    format = "dts_canal"
    route = {"time_zone": "Asia/Shanghai"}
    zone = SHANGHAI
    cannot_say = {"transactions": "Canal drops their marks", "heartbeats": "none"}
    words = {"snapshot": "INIT", SCHEMA_CHANGE: "DDL", TRUNCATE: "DDL"}
    # "Parameters for data types, such as precision, are not supported."
    types = staticmethod(lambda column: column.mysql_type.split("(")[0])

    def envelope(self, event):
        return {**super().envelope(event), "gtid": f"3e11fa47:{event.transaction}"}


class DtsShareplex(Encoder):
    format = "dts_shareplex"
    cannot_say = {
        "types": "no types: Base64 of bytes stays as sent",
        "key": "the message names no key",
        "full load": "ins is the only word for a new row",
        "transactions": "no marks, only their identifiers",
        "statements": "of DDL only TRUNCATE and DROP COLUMN are named",
        "heartbeats": "none",
    }
    marks = (TRUNCATE,)
    operations = {"snapshot": "insert"}
    names_key = False
    bytes_in_gold = BASE64
    words = {"snapshot": "ins", "insert": "ins", "update": "upd", "delete": "del"}

    def value(self, column, value):
        if value is not None and column.kind == "json":
            return document(value)
        text = mysql_text(column, value)
        return b64encode(text).decode() if isinstance(text, bytes) else text

    def text(self, column, value):
        return self.value(column, value)

    def meta(self, event, number=0):
        time = datetime.fromtimestamp(event.seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return {
            "time": time,
            "userid": Bare(84),
            "op": self.words.get(event.kind, event.kind.upper()),
            "scn": str(event.first_id),
            "rowid": f"AAATGpAAIAAI{event.first_id + number}",
            "trans": f"7.0.{event.transaction}",
            "seq": Bare(event.first_row + number),
            "size": Bare(event.transaction_size),
            "table": f"{DATABASE}.{event.table.name}",
            "idx": f"{event.first_row + number}/{event.transaction_size}",
            "posttime": time,
        }

    def row(self, event, number, before, after):
        table, row = event.table, after or before
        data = {column.name: self.value(column, row[column.name]) for column in table.columns}
        message = {"meta": self.meta(event, number), "data": data}
        if event.kind == "update":
            message["data"] = {name: data[name] for name in changed(before, after)}
            key = {column.name: self.value(column, before[column.name]) for column in table.columns}
            message["key"] = key
        return to_json(message).encode()

    def mark(self, event):
        return to_json({"meta": self.meta(event), "data": {}}).encode()


def record(name, /, **fields):
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": field, "type": kind} for field, kind in fields.items()],
    }


OPTIONAL_INT = ["null", "int"]
DATE_TIME = dict.fromkeys(("year", "month", "day", "hour", "minute", "second"), OPTIONAL_INT)
OPERATIONS = "INSERT UPDATE DELETE DDL BEGIN COMMIT ROLLBACK ABORT HEARTBEAT CHECKPOINT COMMAND"
OPERATIONS += " FILL FINISH CONTROL RDB NOOP INIT"
SOURCES = "MySQL Oracle SQLServer PostgreSQL MongoDB Redis DB2 PPAS DRDS HBASE HDFS FILE OTHER"


def dts_schema(namespace):
    """The schema of DTS's records, its types in `namespace`."""
    values = [
        record("Integer", precision="int", value="string"),
        record("Character", charset="string", value="bytes"),
        record("Decimal", value="string", precision="int", scale="int"),
        record("Float", value="double", precision="int", scale="int"),
        record("Timestamp", timestamp="long", millis="int"),
        record("DateTime", **DATE_TIME, millis=OPTIONAL_INT),
        record("TimestampWithTimeZone", value=f"{namespace}.DateTime", timezone="string"),
        record("BinaryGeometry", type="string", value="bytes"),
        record("TextGeometry", type="string", value="string"),
        record("BinaryObject", type="string", value="bytes"),
        record("TextObject", type="string", value="string"),
        {"type": "enum", "name": "EmptyObject", "symbols": ["NULL", "NONE"]},
    ]
    names = [f"{namespace}.{value['name']}" for value in values]
    images = ["null", "string", {"type": "array", "items": ["null", *values]}]
    again = ["null", "string", {"type": "array", "items": ["null", *names]}]
    source = record("Source", sourceType="enum", version="string")
    source["fields"][0]["type"] = {
        "type": "enum",
        "name": "SourceType",
        "symbols": SOURCES.split(),
    }
    operation = {"type": "enum", "name": "Operation", "symbols": OPERATIONS.split()}
    field = record("Field", name="string", dataTypeNumber="int")
    schema = record(
        "Record",
        version="int",
        id="long",
        sourceTimestamp="long",
        sourcePosition="string",
        safeSourcePosition="string",
        sourceTxid="string",
        source=source,
        operation=operation,
        objectName=["null", "string"],
        processTimestamps=["null", {"type": "array", "items": "long"}],
        tags={"type": "map", "values": "string"},
        fields=["null", "string", {"type": "array", "items": field}],
        beforeImages=images,
        afterImages=again,
        bornTimestamp="long",
    )
    return {**schema, "namespace": namespace}


# Type codes of MySQL's binlog.
NUMBERS = {"tinyint": 1, "smallint": 2, "mediumint": 9, "int": 3, "bigint": 8, "unsigned": 8}
NUMBERS |= {"decimal": 246, "price": 246, "float": 4, "double": 5, "bit": 16, "char": 254}
NUMBERS |= {"varchar": 253, "text": 252, "enum": 247, "set": 248, "json": 245, "date": 10}
NUMBERS |= {"time": 11, "datetime": 12, "timestamp": 7, "year": 13, "varbinary": 253, "blob": 252}


def date_parts(text):
    return dict(zip(("year", "month", "day"), map(int, text.split("-")), strict=True))


def clock_parts(text, sign=1):
    """Hour, minute, second and `millis`, which holds microseconds for MySQL."""
    clock, micros = text.split(".")
    parts = [sign * int(part) for part in (*clock.split(":"), micros)]
    return dict(zip(("hour", "minute", "second", "millis"), parts, strict=True))


class DtsAvro(Encoder):
    format = "dts_avro"
    namespace = "com.alibaba.dts.formats.avro"
    cannot_say = {
        "transaction of a change": "sourceTxid of MySQL is 0",
        "row of a transaction": "no field",
    }
    marks = (SCHEMA_CHANGE, TRUNCATE, HEARTBEAT, BEGIN, END)
    words = {"snapshot": "INIT", SCHEMA_CHANGE: "DDL", TRUNCATE: "DDL", BEGIN: "BEGIN"}
    words |= {END: "COMMIT"}

    def __init__(self):
        self.schema = parse_schema(dts_schema(self.namespace))

    def value(self, column, value):
        if value is None:
            return None
        name, body = self.branch(column, value)
        return f"{self.namespace}.{name}", body

    def branch(self, column, value):
        kind = column.kind
        if kind in ("decimal", "price"):
            return "Decimal", {"value": f"{value:f}", "precision": 65, "scale": 30}
        if kind in ("float", "double"):
            return "Float", {"value": value, "precision": 0, "scale": 0}
        if kind in ("char", "varchar", "text"):
            return "Character", {"charset": "utf8mb4", "value": value.encode()}
        if kind in ("enum", "set", "json"):
            return "TextObject", {"type": kind.upper(), "value": value}
        if kind in BINARY:
            return "BinaryObject", {"type": "BLOB", "value": value}
        if kind == "timestamp":
            whole, micros = value.split(".")
            moment = datetime.fromisoformat(whole).replace(tzinfo=UTC)
            return "Timestamp", {"timestamp": int(moment.timestamp()), "millis": int(micros)}
        parts = dict.fromkeys((*DATE_TIME, "millis"))
        if kind == "date":
            parts.update(date_parts(value))
        elif kind == "datetime":
            parts.update(date_parts(value.split(" ")[0]), **clock_parts(value.split(" ")[1]))
        elif kind == "time":
            parts.update(clock_parts(value.lstrip("-"), -1 if value.startswith("-") else 1))
        elif kind == "year":
            parts["year"] = value
        else:
            return "Integer", {"precision": 0, "value": str(value)}
        return "DateTime", parts

    def values(self, table, row):
        return row and [self.value(column, row[column.name]) for column in table.columns]

    def message(self, event, number=0, **parts):
        position = f"{event.offset}@{event.file}"
        tags = {"metaVersion": "1"}
        name = f"{DATABASE}.{event.table.name}" if event.table else None
        if event.rows:
            tags["pk_uk_info"] = json.dumps({"PRIMARY": event.table.key})
        datum = {
            "version": 0,
            "id": event.first_id + number,
            "sourceTimestamp": event.seconds,
            "sourcePosition": "" if event.kind == "snapshot" else position,
            "safeSourcePosition": position,
            "sourceTxid": "0",
            "source": {"sourceType": "MySQL", "version": "8.0.32"},
            "operation": self.words.get(event.kind, event.kind.upper()),
            "objectName": name,
            "processTimestamps": None,
            "tags": tags,
            "fields": None,
            "beforeImages": None,
            "afterImages": event.sql,
            "bornTimestamp": event.seconds * 1000 + 17,
            **parts,
        }
        stream = BytesIO()
        schemaless_writer(stream, self.schema, datum)
        return stream.getvalue()

    def row(self, event, number, before, after):
        columns = event.table.columns
        fields = [{"name": c.name, "dataTypeNumber": NUMBERS[c.kind]} for c in columns]
        return self.message(
            event,
            number,
            fields=fields,
            beforeImages=self.values(event.table, before),
            afterImages=self.values(event.table, after),
        )

    def mark(self, event):
        return self.message(event)
