"""Debezium's messages in Protobuf, with the ids of a schema registry.

The connector has `time.precision.mode = connect`, so that dates and times keep their types. Of the
two tables one has a converter with `optional.for.nullables`, the other `wrapper.for.nullables`.
"""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

from connect_protobuf import CONNECT, Converter, header
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from history import EVERYTHING, TABLES

from encoders.base import HEARTBEAT, SCHEMA_CHANGE, Bare, trimmed
from encoders.debezium import DebeziumOfRegistry

PACKAGE = "io.debezium.connector"
TIMES = {
    "date": ("int32", f"{CONNECT}.Date"),
    "time": ("int32", f"{CONNECT}.Time"),
    "datetime": ("int64", f"{CONNECT}.Timestamp"),
}


def structure(name, fields):
    """A struct with fields {name: type}; a type that may be null has a question mark."""
    members = [
        {"field": field, "type": kind.rstrip("?"), "optional": kind.endswith("?")}
        if isinstance(kind, str)
        else {"field": field, "optional": True, **kind}
        for field, kind in fields.items()
    ]
    return {"type": "struct", "name": name, "fields": members}


SOURCE = structure(
    f"{PACKAGE}.mysql.Source",
    {
        **dict.fromkeys(("version", "connector", "name"), "string"),
        "ts_ms": "int64",
        "snapshot": "string?",
        "db": "string",
        **dict.fromkeys(("sequence", "table"), "string?"),
        "server_id": "int64",
        "gtid": "string?",
        "file": "string",
        "pos": "int64",
        "row": "int32",
        "thread": "int64?",
        "query": "string?",
    },
) | {"optional": False}
TRANSACTION = structure(
    "event.block", {"id": "string", "total_order": "int64", "data_collection_order": "int64"}
)
STATEMENT = structure(
    f"{PACKAGE}.mysql.SchemaChangeValue",
    {
        "source": SOURCE,
        "ts_ms": "int64",
        **dict.fromkeys(("databaseName", "schemaName", "ddl"), "string?"),
    },
)
MARKER = structure(
    f"{PACKAGE}.common.TransactionMetadataValue",
    {"status": "string", "id": "string", "event_count": "int64?", "ts_ms": "int64"},
)


class DebeziumProtobuf(DebeziumOfRegistry):
    format = "debezium_protobuf"
    route = {"avro_schema": "avro/laboratory_protobuf"}
    cannot_say = {
        **DebeziumOfRegistry.cannot_say,
        "microseconds of dates and times": "Connect's own types end with milliseconds",
        "clocks below zero or of more than a day": "the converter fails; here they are null",
        "bits": "bytes without their type, the lowest first",
    }

    def __init__(self):
        """Number the schemas from 71 on."""
        heartbeat = structure(f"{PACKAGE}.common.Heartbeat", {"ts_ms": "int64"})
        marks = {SCHEMA_CHANGE: STATEMENT, "end": MARKER, HEARTBEAT: heartbeat}
        written = {name: (Converter(), schema) for name, schema in marks.items()}
        for table in TABLES:
            converter = Converter("optional" if table is EVERYTHING else "wrapper")
            written[f"{table.name}-key"] = converter, self.key_of(table)
            written[table.name] = converter, self.envelope_of(table)
        self.ids = {name: number for number, name in enumerate(written, 71)}
        self.written = {self.ids[name]: each for name, each in written.items()}

    def key_of(self, table):
        fields = [{**self.field(column), "optional": False} for column in table.key_columns]
        return {"type": "struct", "name": f"dbz.{table.name}.Key", "fields": fields}

    def envelope_of(self, table):
        row = {"type": "struct", "name": f"dbz.{table.name}.Value"}
        row["fields"] = self.fields(table.columns)
        parts = {"before": row, "after": row, "source": SOURCE, "op": "string", "ts_ms": "int64?"}
        return structure(f"dbz.{table.name}.Envelope", {**parts, "transaction": TRANSACTION})

    def write_schemas(self, folder):
        folder.mkdir()
        for number, (converter, schema) in self.written.items():
            described = FileDescriptorSet(file=[converter.file(schema)])
            (folder / f"{number}.desc").write_bytes(described.SerializeToString())

    def field(self, column):
        field = super().field(column)
        if column.kind in TIMES:
            field["type"], field["name"] = TIMES[column.kind]
        return field

    def carried(self, column, value):
        value = super().carried(column, value)
        if value is None or column.kind not in ("time", "datetime"):
            return value
        if column.kind == "time" and not "00" <= value.split(":")[0] < "24":
            return None
        return value[:-3] + "000"

    def value(self, column, value):
        written = super().value(column, value)
        if written is not None and column.kind in ("time", "datetime"):
            return Bare(int(written) // 1000)
        return written

    def text(self, column, value):
        if column.kind == "bit":
            return value.to_bytes(3, "little").hex()
        if column.kind == "timestamp":
            return f"{trimmed(value).replace(' ', 'T')}Z"
        return super().text(column, value)

    def gold_expression(self, column):
        if column.kind == "bit":
            bits = ", ".join(f"substr(image['{column.name}'], {at}, 2)" for at in (5, 3, 1))
            return f"try_cast(conv(concat({bits}), 16, 10) as bigint)"
        return super().gold_expression(column)

    def bytes_of(self, number, values):
        converter, schema = self.written[number]
        return header(number) + converter.message(schema, values)
