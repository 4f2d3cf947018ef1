"""Debezium's messages in Avro, with the ids of a schema registry."""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

import json
from base64 import b64decode
from io import BytesIO

from fastavro import parse_schema, schemaless_writer
from history import TABLES

from encoders.base import HEARTBEAT, SCHEMA_CHANGE
from encoders.debezium import PARAMETERS, TYPES, DebeziumOfRegistry

AVRO = {"boolean": "boolean", "bytes": "bytes", "string": "string", "int64": "long"}
AVRO |= {"int16": "int", "int32": "int", "float32": "float", "float64": "double"}
AVRO |= {"float": "float", "double": "double"}
PACKAGE = "io.debezium.connector"


def or_null(kind):
    return ["null", kind]


def record(name, fields, namespace=None):
    """A record as AvroConverter names it, with fields {name: type}."""
    full = f"{namespace}.{name}" if namespace else name
    members = [{"name": field, "type": kind} for field, kind in fields.items()]
    names = {"namespace": namespace} if namespace else {}
    return {"type": "record", "name": name, **names, "fields": members, "connect.name": full}


SOURCE = record(
    "Source",
    {
        **dict.fromkeys(("version", "connector", "name"), "string"),
        "ts_ms": "long",
        "snapshot": [{"type": "string", "connect.default": "false"}, "null"],
        "db": "string",
        **dict.fromkeys(("sequence", "table"), or_null("string")),
        "server_id": "long",
        "gtid": or_null("string"),
        "file": "string",
        "pos": "long",
        "row": "int",
        "thread": or_null("long"),
        "query": or_null("string"),
    },
    f"{PACKAGE}.mysql",
)
TRANSACTION = record(
    "block",
    {"id": "string", "total_order": "long", "data_collection_order": "long"},
    "event",
)
STATEMENT = record(
    "SchemaChangeValue",
    {
        "source": SOURCE,
        "ts_ms": "long",
        **dict.fromkeys(("databaseName", "schemaName", "ddl"), or_null("string")),
    },
    f"{PACKAGE}.mysql",
)
MARKER = record(
    "TransactionMetadataValue",
    {"status": "string", "id": "string", "event_count": or_null("long"), "ts_ms": "long"},
    f"{PACKAGE}.common",
)


def column_type(column):
    connect, semantic = TYPES[column.kind]
    kind = {"type": AVRO[connect]}
    if semantic:
        kind |= {"connect.version": 1, "connect.name": semantic}
    if column.kind in PARAMETERS:
        told = PARAMETERS[column.kind]
        kind["connect.parameters"] = told
        if "scale" in told:
            precision = int(told.get("connect.decimal.precision", 64))
            kind |= {"logicalType": "decimal", "scale": int(told["scale"]), "precision": precision}
    return kind


def row_type(name, columns, namespace=None):
    return record(name, {c.name: or_null(column_type(c)) for c in columns}, namespace)


def envelope_of(table):
    namespace = f"dbz.{table.name}"
    return record(
        "Envelope",
        {
            "before": or_null(row_type("Value", table.columns, namespace)),
            "after": or_null(f"{namespace}.Value"),
            "source": SOURCE,
            "op": "string",
            "ts_ms": or_null("long"),
            "transaction": or_null(TRANSACTION),
        },
        namespace,
    )


def key_of(table):
    return row_type("Key", table.key_columns, f"dbz.{table.name}")


class DebeziumAvro(DebeziumOfRegistry):
    format = "debezium_avro"
    route = {"avro_schema": "avro/laboratory"}

    def __init__(self, register=lambda name, schema, number: number):
        """Number the schemas from 41 on, or as `register` does, which a registry may."""
        schemas = {SCHEMA_CHANGE: STATEMENT, "end": MARKER}
        schemas[HEARTBEAT] = record("Heartbeat", {"ts_ms": "long"}, f"{PACKAGE}.common")
        for table in TABLES:
            schemas |= {f"{table.name}-key": key_of(table), table.name: envelope_of(table)}
        numbered = enumerate(schemas.items(), 41)
        self.ids = {name: register(name, schema, number) for number, (name, schema) in numbered}
        self.schemas = {self.ids[name]: schema for name, schema in schemas.items()}
        # Without logical types: what the tests write is what stands in the bytes.
        plain = {n: json.dumps(s).replace("logicalType", "told") for n, s in self.schemas.items()}
        self.parsed = {number: parse_schema(json.loads(text)) for number, text in plain.items()}

    def write_schemas(self, folder):
        folder.mkdir()
        for number, schema in self.schemas.items():
            (folder / f"{number}.avsc").write_text(json.dumps(schema))

    def bytes_of(self, number, document):
        stream = BytesIO()
        schemaless_writer(stream, self.parsed[number], datum(self.schemas[number], document, {}))
        return b"\0" + number.to_bytes(4, "big") + stream.getvalue()


def datum(schema, value, named):
    """What Connect's JSON says, as fastavro writes it: numbers, and bytes."""
    if isinstance(schema, list):
        schema = next(each for each in schema if each != "null")
    if value is None and not isinstance(schema, dict):
        return None
    schema = named.get(schema, schema) if isinstance(schema, str) else schema
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "record":
        named[f"{schema.get('namespace')}.{schema['name']}"] = schema
        members = {each["name"]: each["type"] for each in schema["fields"]}
        if value is None:
            return None
        return {name: datum(part, value.get(name), named) for name, part in members.items()}
    if value is None or kind in ("string", "boolean"):
        return value
    if kind == "bytes":
        return b64decode(value)
    return float(value) if kind in ("float", "double") else int(value)
