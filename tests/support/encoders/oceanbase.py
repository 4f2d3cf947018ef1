"""OceanBase data subscription: "Message formats supported by data subscription"."""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

from datetime import UTC, datetime
from io import BytesIO

from fastavro import parse_schema, schemaless_writer
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
)
from encoders.dts import SHANGHAI, Canal, clock_parts, date_parts, record

NAMESPACE = "com.xxx.oms.xxx.xxx.avro"
DATA_TYPES = "NULL INTEGER LONG FLOAT DOUBLE DECIMAL STRING BINARY TIMESTAMP DATE TIME DATETIME"
DATA_TYPES += " BOOLEAN BIT GEOMETRY RAW ENUM SET ARRAY VECTOR SPARSE_VECTOR ROARINGBITMAP MAP"


def enum(name, symbols):
    return {"type": "enum", "name": name, "symbols": symbols.split()}


def array(items):
    return {"type": "array", "items": items}


COLUMN_VALUE = record(
    "ColumnValue",
    type_info=enum("DataType", DATA_TYPES),
    value=[
        "null",
        "boolean",
        "int",
        "long",
        "float",
        "double",
        "bytes",
        "string",
        record("StringObject", charsetName="string", value="string"),
        record("DecimalObject", precision="int", scale="int", value="string"),
        record("DateObject", year="int", month="int", day="int"),
        record(
            "TimeObject", negative="boolean", hours="int", minutes="int", seconds="int", nanos="int"
        ),
        record(
            "DateTimeObject",
            **dict.fromkeys(
                ("year", "month", "day", "hours", "minutes", "seconds", "nanos"), "int"
            ),
        ),
        record("TimestampObject", seconds="long", nanos="int", timezone=["null", "string"]),
        record("BitObject", bit_length="int", value="string"),
        record("EnumSetValue", value="string", defines=["null", array("string")]),
        record("GeometryValue", srid="int", wkb="bytes"),
    ],
)
SCHEMA = {
    **record(
        "AvroRecord",
        id="long",
        version=["int"],
        operation=["null", enum("Operation", "INSERT UPDATE DELETE DDL BEGIN COMMIT HEARTBEAT")],
        xid=["null", "string"],
        txind=["null", enum("TxindType", "B M E W")],
        position=["null", "string"],
        timestamp=["null", "long"],
        source=[
            "null",
            record("Source", sourceType=enum("SourceType", "OB_MYSQL OB_ORACLE"), version="string"),
        ],
        schemaName=["null", "string"],
        tableName=["null", "string"],
        fields=["null", array(record("Field", name="string", dataTypeNumber="int"))],
        pkIndexes=["null", array("int")],
        ukIndexes=["null", array(array("int"))],
        beforeImages=["null", array(COLUMN_VALUE)],
        afterImages=["null", array(f"{NAMESPACE}.ColumnValue")],
        sql=["null", "string"],
        tags=["null", {"type": "map", "values": "string"}],
        total="int",
        index="int",
        beforeImageBytes="bytes",
        afterImageBytes="bytes",
    ),
    "namespace": NAMESPACE,
}


def object_of(name, **fields):
    return f"{NAMESPACE}.{name}", fields


class OceanbaseAvro(Encoder):
    format = "oceanbase_avro"
    cannot_say = {"full load": "INSERT is the only word for a new row"}
    marks = (SCHEMA_CHANGE, TRUNCATE, HEARTBEAT, BEGIN, END)
    operations = {"snapshot": "insert"}
    words = {"snapshot": "INSERT", SCHEMA_CHANGE: "DDL", TRUNCATE: "DDL", BEGIN: "BEGIN"}
    words |= {END: "COMMIT"}

    def __init__(self):
        self.schema = parse_schema(SCHEMA)
        self.images = parse_schema(array({**COLUMN_VALUE, "namespace": NAMESPACE}))

    def text(self, column, value):
        return str(value) if column.kind == "year" else super().text(column, value)

    def value(self, column, value):
        if value is None:
            return {"type_info": "NULL", "value": None}
        kind, body = self.branch(column, value)
        return {"type_info": kind, "value": body}

    def branch(self, column, value):
        kind = column.kind
        if kind in ("tinyint", "smallint", "mediumint", "int", "year"):
            return "INTEGER", ("int", value)
        if kind == "bigint" or (kind == "unsigned" and value < 2**63):
            return "LONG", ("long", value)
        if kind == "unsigned":
            return "DECIMAL", object_of("DecimalObject", precision=20, scale=0, value=str(value))
        if kind in ("decimal", "price"):
            scale = -value.as_tuple().exponent
            text = f"{value:f}"
            return "DECIMAL", object_of("DecimalObject", precision=65, scale=scale, value=text)
        if kind in ("float", "double"):
            return kind.upper(), (kind, value)
        if kind == "bit":
            return "BIT", object_of("BitObject", bit_length=20, value=str(value))
        if kind in ("enum", "set"):
            labels = list(column.labels)
            return kind.upper(), object_of("EnumSetValue", value=value, defines=labels)
        if kind in BINARY:
            return "BINARY", ("bytes", value)
        if kind == "varchar":
            return "STRING", object_of("StringObject", charsetName="utf8mb4", value=value)
        return self.time(kind, value) or ("STRING", ("string", value))

    def time(self, kind, value):
        if kind == "date":
            return "DATE", object_of("DateObject", **date_parts(value))
        if kind == "time":
            clock = self.clock(value.lstrip("-"))
            return "TIME", object_of("TimeObject", negative=value.startswith("-"), **clock)
        if kind == "datetime":
            day, clock = value.split(" ")
            parts = {**date_parts(day), **self.clock(clock)}
            return "DATETIME", object_of("DateTimeObject", **parts)
        if kind == "timestamp":
            whole, micros = value.split(".")
            seconds = int(datetime.fromisoformat(whole).replace(tzinfo=UTC).timestamp())
            nanos = int(micros) * 1000
            return "TIMESTAMP", object_of(
                "TimestampObject", seconds=seconds, nanos=nanos, timezone=None
            )
        return None

    def clock(self, text):
        parts = clock_parts(text)
        return {
            "hours": parts["hour"],
            "minutes": parts["minute"],
            "seconds": parts["second"],
            "nanos": parts["millis"] * 1000,
        }

    def values(self, table, row):
        return row and [self.value(column, row[column.name]) for column in table.columns]

    def message(self, event, number=0, **parts):
        datum = {
            "id": event.first_id + number,
            "version": 1,
            "operation": self.words.get(event.kind, event.kind.upper()),
            "xid": None if event.kind == HEARTBEAT else f"1002_{event.transaction}",
            "txind": None,
            "position": f"{event.seconds}",
            "timestamp": event.seconds,
            "source": {"sourceType": "OB_MYSQL", "version": "4.2.1"} if event.table else None,
            "schemaName": DATABASE if event.table else None,
            "tableName": event.table.name if event.table else None,
            **dict.fromkeys(("fields", "pkIndexes", "ukIndexes", "beforeImages", "afterImages")),
            "sql": event.sql,
            "tags": None,
            "total": -1,
            "index": -1,
            "beforeImageBytes": b"",
            "afterImageBytes": b"",
            **parts,
        }
        stream = BytesIO()
        schemaless_writer(stream, self.schema, datum)
        return stream.getvalue()

    def rows(self, event):
        columns = event.table.columns
        names = [column.name for column in columns]
        parts = {
            "fields": [{"name": name, "dataTypeNumber": 0} for name in names],
            "pkIndexes": [names.index(name) for name in event.table.key],
            "txind": "W" if event.transaction_size == 1 else "M",
        }
        messages = []
        for number, (before, after) in enumerate(event.rows):
            images = self.values(event.table, before), self.values(event.table, after)
            if event.number % 7 == 0:
                messages += self.shards(event, number, parts, images)
            else:
                before, after = images
                whole = {**parts, "beforeImages": before, "afterImages": after}
                messages.append(self.message(event, number, **whole))
        return messages

    def shards(self, event, number, parts, images):
        """A record that is too large: its images as bytes, cut and sent in three messages."""
        streams = []
        for image in images:
            stream = BytesIO()
            if image is not None:
                schemaless_writer(stream, self.images, image)
            streams.append(stream.getvalue())
        pieces = [
            [data[n * len(data) // 3 : (n + 1) * len(data) // 3] for n in range(3)]
            for data in streams
        ]
        for index, (before, after) in enumerate(zip(*pieces, strict=True)):
            shard = {"total": 3, "index": index}
            shard |= {"beforeImageBytes": before, "afterImageBytes": after}
            yield self.message(event, number, **parts, **shard)

    def mark(self, event):
        return self.message(event)


class OpenSourceCanal(Canal):
    """Canal itself: it counts batches of events, which share the number, and begins again."""

    format = "canal"
    cannot_say = {
        "position": "`id` is the number of a batch: the order is commit time, id, delivery",
        "full load": "INSERT is the only word for a new row",
        "transactions": "Canal drops their marks",
        "heartbeats": "none",
    }
    operations = {"snapshot": "insert"}
    has_position = False
    words = {"snapshot": "INSERT", SCHEMA_CHANGE: "ALTER"}

    def envelope(self, event):
        return {**super().envelope(event), "id": Bare(event.seconds // 300 % 5 + 1), "gtid": ""}

    def value(self, column, value):
        """An ENUM as its ordinal, a SET as its mask."""
        if column.kind == "enum" and value is not None:
            return str(column.labels.index(value) + 1)
        if column.kind == "set" and value is not None:
            tags = value.split(",") if value else []
            return str(sum(1 << column.labels.index(tag) for tag in tags))
        return super().value(column, value)


class OceanbaseCanal(Canal):
    format = "oceanbase_canal"
    route = {"time_zone": "Asia/Shanghai"}
    zone = SHANGHAI
    cannot_say = {
        "full load": "INSERT is the only word for a new row",
        "transactions": "no field",
        "heartbeats": "their form is not documented",
    }
    operations = {"snapshot": "insert"}
    # The delivery is a part of the place of a change.
    tells_copies = False
    words = {"snapshot": "INSERT", SCHEMA_CHANGE: "ALTER"}
    types = staticmethod(lambda column: column.mysql_type.upper().replace("'IT''S", "'it''s"))
