"""A schema of Kafka Connect's AvroConverter: it gives data as JSON, and the types of columns."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

from fastavro import parse_schema, schemaless_reader

from udfs._avro_reader import avro_reason
from udfs._avro_text import float_text
from udfs._debezium_rows import IMAGES, UNAVAILABLE
from udfs._json_values import Number, Refused

# Writes a value that fastavro has read as a reader of JSON reads it.
Writer = Callable[[Any], Any]
_DATA = "org.apache.kafka.connect.data."
_TIME = "io.debezium.time."
_DECIMAL = f"{_DATA}Decimal"
# The types of Kafka Connect by those of Avro; `connect.type` says the narrower ones.
_TYPES = {
    "int": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "fixed": "bytes",
    "enum": "string",
    "record": "struct",
}
# What Connect would call the types of others who write Avro.
_LOGICAL = {
    "decimal": _DECIMAL,
    "date": f"{_DATA}Date",
    "time-millis": f"{_DATA}Time",
    "time-micros": f"{_TIME}MicroTime",
    "timestamp-millis": f"{_DATA}Timestamp",
    "timestamp-micros": f"{_TIME}MicroTimestamp",
    "timestamp-nanos": f"{_TIME}NanoTimestamp",
    "local-timestamp-millis": f"{_DATA}Timestamp",
    "local-timestamp-micros": f"{_TIME}MicroTimestamp",
    "local-timestamp-nanos": f"{_TIME}NanoTimestamp",
    "uuid": "io.debezium.data.Uuid",
}


class Schema:
    """The schema of a value or of a key.

    Attributes:
        parsed: the schema without logical types, for fastavro: numbers and bytes stay as they are.
        name: that of its record.
        types: {column: type} of its rows: `before` and `after`, or the record itself.
        declared: {column: placeholder of a value that was not sent} where the schema says it.
    """

    def __init__(self, text: str) -> None:
        """Read the text of a schema; of a list, the last schema, which may name the others.

        Raises an error if it is none, or not that of a record.
        """
        stated = json.loads(text)
        self._named: dict[str, dict[str, Any]] = {}
        parsed = None
        for each in stated if isinstance(stated, list) else [stated]:
            parsed = parse_schema(_without_logical_types(each), self._named)
        if not isinstance(parsed, dict) or parsed.get("type") != "record":
            raise ValueError("it is not that of a record")
        self.parsed = parsed
        self.name: str = parsed["name"]
        self._writers: dict[str, Writer | None] = {}
        self._write = self._writer(self.parsed)
        fields = self._columns()
        found = {each["name"]: self._connect_type(each["type"]) for each in fields}
        self.types = {name: kind for name, kind in found.items() if kind}
        told = {each["name"]: self._parameters(each["type"]).get(UNAVAILABLE) for each in fields}
        self.declared = {name: text for name, text in told.items() if text is not None}

    def read(self, value: bytes, start: int, is_row: bool) -> tuple[dict[str, Any], Schema]:
        """Return what the bytes of a value from `start` on say as a reader of JSON reads it, and
        the schema. A key, which is a row, is read as a message is.

        Raises Refused if they are not one datum of the schema.
        """
        number, stream = int.from_bytes(value[1:start], "big"), BytesIO(value)
        stream.seek(start)
        try:
            datum: Any = schemaless_reader(stream, self.parsed, None)
        except Exception as error:  # noqa: BLE001 - bytes raise anything
            detail = f"no datum of schema {number}, {self.name}: {avro_reason(error)}"
            raise Refused("not_avro", detail) from None
        left = len(value) - stream.tell()
        if left:
            detail = f"{left} of {len(value)} bytes are left over after a datum of schema {number}"
            raise Refused("not_avro", detail)
        return self._write(datum) if self._write else datum, self

    def _writer(self, schema: Any) -> Writer | None:
        """Return the function that writes a value of a schema, None if the value will do."""
        if isinstance(schema, list):
            branches = [each for each in schema if each != "null"]
            one = self._writer(branches[0]) if len(branches) == 1 else _write_any
            return one and (lambda value: None if value is None else one(value))
        kind = schema["type"] if isinstance(schema, dict) else schema
        if kind == "record":
            name, fields = schema["name"], schema["fields"]
            whole: list[Writer] = []  # which its members may ask before it is there
            self._writers.setdefault(name, lambda value: whole[0](value))
            written = {each["name"]: self._writer(each["type"]) for each in fields}
            whole.append(_writer_of_members({n: w for n, w in written.items() if w}))
            self._writers[name] = whole[0]
            return whole[0]
        if kind == "array":
            of_item = self._writer(schema["items"])
            return of_item and (lambda values: [of_item(value) for value in values])
        if kind == "map":
            of_value = self._writer(schema["values"])
            return of_value and (lambda members: {k: of_value(v) for k, v in members.items()})
        write = SCALARS[kind] if kind in SCALARS else self._writers.get(kind)
        if isinstance(schema, dict) and "name" in schema:
            self._writers[schema["name"]] = write
        return write

    def _columns(self) -> list[dict[str, Any]]:
        """Return the fields of its rows."""
        images = [each["type"] for each in self.parsed["fields"] if each["name"] in IMAGES]
        rows = [row for row in map(self._record_of, images) if row]
        fields: list[dict[str, Any]] = (rows[0] if rows else self.parsed)["fields"]
        return fields

    def _record_of(self, schema: Any) -> dict[str, Any] | None:
        """Return the record that a type is, or may be beside null; None if it is another."""
        schema = self._resolved(schema)
        return schema if isinstance(schema, dict) and schema["type"] == "record" else None

    def _resolved(self, schema: Any) -> Any:
        if isinstance(schema, list):
            branches = [each for each in schema if each != "null"]
            if len(branches) != 1:
                return None
            schema = branches[0]
        return self._named.get(schema, schema) if isinstance(schema, str) else schema

    def _connect_type(self, schema: Any) -> str | None:
        """Return the type of a column: the semantic one, else Kafka Connect's; None if unknown."""
        schema = self._resolved(schema)
        if not isinstance(schema, dict):
            named: str | None = _TYPES.get(schema, schema)
            return named
        kind = schema["type"]
        name: str | None = schema.get("connect.name")
        name = name or _LOGICAL.get(schema.get(_LOGICAL_TYPE, ""))
        if name == _DECIMAL:
            return name + _digits(schema)
        if name is None and kind == "array":
            return f"array<{self._connect_type(schema['items']) or ''}>"
        return name or schema.get("connect.type") or _TYPES.get(kind, kind)

    def _parameters(self, schema: Any) -> dict[str, Any]:
        schema = self._resolved(schema)
        return (isinstance(schema, dict) and schema.get("connect.parameters")) or {}


def _digits(schema: dict[str, Any]) -> str:
    """Return the digits of a decimal as `canonical` wants them: (precision,scale)."""
    told = schema.get("connect.parameters") or {}
    precision = told.get("connect.decimal.precision", schema.get("precision", ""))
    return f"({precision},{told.get('scale', schema.get('scale', 0))})"


# What a logical type is called in a schema whose data are to stay as they are.
_LOGICAL_TYPE = "was.logicalType"


def _without_logical_types(schema: Any) -> Any:
    """Return a schema in which fastavro sees no logical types, and names of them stay."""
    if isinstance(schema, list):
        return [_without_logical_types(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        _LOGICAL_TYPE if name == "logicalType" else name: _without_logical_types(part)
        if name in ("type", "items", "values", "fields")
        else part
        for name, part in schema.items()
    }


def _writer_of_members(writers: Mapping[str, Writer]) -> Writer:
    """Return the function that writes the members of a record, each by its own."""
    return lambda record: record | {name: write(record[name]) for name, write in writers.items()}


def _write_bytes(value: bytes) -> str:
    return b64encode(value).decode()


def _write_any(value: Any) -> Any:
    """Write a value of which only itself says what it is."""
    if isinstance(value, bytes):
        return _write_bytes(value)
    if isinstance(value, float):
        return Number(float_text(value, False))
    if isinstance(value, list):
        return [_write_any(each) for each in value]
    if isinstance(value, dict):
        return {name: _write_any(each) for name, each in value.items()}
    return value


SCALARS: dict[str, Writer | None] = {
    "bytes": _write_bytes,
    "fixed": _write_bytes,
    "float": lambda value: Number(float_text(value, True)),
    "double": lambda value: Number(float_text(value, False)),
    **dict.fromkeys(("null", "boolean", "int", "long", "string", "enum")),
}
