"""Read Avro and Protobuf of Kafka Connect's converters as the JSON that its JsonConverter writes.

`register` makes `connect_avro(value binary, schema string, fields string, statement string,
key binary, key_schema string, format string)` a SQL function; `read` is the same for one message in
plain Python. A value is a registry header (a zero byte, and the id of its schema in four bytes, or
in Apicurio's eight) and a datum of `schema`, the text of that schema; null if nobody knows it. The
schema says whether it is of Avro or of Protobuf, `format` what values without one should be. A key
is the same, or JSON. The other arguments and what it gives back are as of `connect_json`:

- `text`: the datum as `from_json` has to read it, its rows in canonical text; bytes as Base64;
- `types`: by column of the row, or of the rows `before` and `after`, its type;
- `problem`: why the value or the key cannot be read, null if they can.

Nothing raises but `fields` that cannot be read.
"""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from udfs import ddl, exact_json
from udfs._arrow import register_arrow
from udfs._avro_refused import reason, remembered
from udfs._connect_schema import Schema
from udfs._debezium_rows import Rows
from udfs._debezium_values import text_of
from udfs._json_shapes import Shape, fit_document, shape_of
from udfs._json_values import Refused, write
from udfs._protobuf_schema import Kind, ProtobufSchema
from udfs.connect_json import RETURN_TYPE, read_key, to_arrow
from udfs.exact_json import Exact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A zero byte, and an id; Confluent numbers from 1, so that no id is an id of eight bytes.
HEADER_BYTES, LONG_HEADER_BYTES = 5, 9
# With this the text of a schema of Protobuf begins: engine/registry.py.
PROTOBUF = '{"protobuf":'
AVRO = "debezium_avro"
# A schema, the sentence that says why it cannot be read, or None if nobody knows it.
Found = Schema | ProtobufSchema | str | None


def register(spark: SparkSession, project_dir: Path) -> None:
    """Register `connect_avro` in `spark`.

    Workers need fastavro, jiter, protobuf and pyarrow, but not this module.
    """
    found_schema = remembered(_schema_of)

    def schema_of(text: str | None) -> Found:
        return None if text is None else found_schema(text)

    def read_all(
        values: pa.Array,
        schemas: pa.Array,
        fields: pa.Array,
        statements: pa.Array,
        keys: pa.Array,
        key_schemas: pa.Array,
        formats: pa.Array,
    ) -> pa.Array:
        shapes = {text: shape_of(text) for text in fields.unique().to_pylist()}
        asked = (values, schemas, fields, statements, keys, key_schemas, formats)
        columns = (each.to_pylist() for each in asked)
        gc.disable()  # documents hold no cycles, and it takes long to look for some
        try:
            return to_arrow(
                [
                    read(value, schema_of(text), shapes[shape], path, key, schema_of(of_key), form)
                    for value, text, shape, path, key, of_key, form in zip(*columns, strict=True)
                ]
            )
        finally:
            gc.enable()

    register_arrow(spark, "connect_avro", read_all, RETURN_TYPE)


def _schema_of(text: str) -> Schema | ProtobufSchema | str:
    """Return the schema of a text, or the sentence that says why there is none."""
    try:
        return ProtobufSchema(text) if text.startswith(PROTOBUF) else Schema(text)
    except Exception as error:  # noqa: BLE001 - no schema may stop the messages of others
        return f"its schema cannot be read: {reason(error)}"


def read(
    value: bytes | None,
    schema: Found,
    shape: Shape,
    statement: str = "",
    key: bytes | None = None,
    key_schema: Found = None,
    format: str = AVRO,
) -> tuple[*Exact, dict[str, str] | None, bool, dict[str, str | None] | None]:
    """Read one Kafka value (bytes or None) of a schema, and its key.

    Returns (text, code, detail, stated, types, is_whole, key). Never raises. Codes: empty_value,
    not_avro, not_protobuf, unknown_schema, wrong_type (a field is not of its type).
    """
    text, code, detail, stated, rows = _read(value, schema, shape, statement, format)
    row, problem = _read_key(key, key_schema, rows.types, format)
    if problem and code is None:
        (code, detail), text, stated = problem, None, None
    return text, code, detail, stated, rows.types, rows.is_whole, row


def _read(
    value: bytes | None, schema: Found, shape: Shape, statement: str, format: str
) -> tuple[*Exact, Rows]:
    """Return text, code, detail and stated of a value, and its Rows."""
    if value is None:
        return None, None, None, None, Rows()
    try:
        document, known = _document(value, schema, format, is_row=False)
        rows = Rows(known.types, known.declared)
        fitted = fit_document(rows.typed_images(document), shape)
        stated = ddl.read(exact_json.text_at(document, statement)) if statement else None
        return write(fitted), None, None, stated, rows
    except Refused as refused:
        return None, refused.args[0], refused.detail(), None, Rows()
    except Exception as error:  # noqa: BLE001 - no message may stop its neighbours
        return None, _not_a(format), f"cannot be read: {reason(error)}", None, Rows()


def _read_key(
    key: bytes | None, schema: Found, types: dict[str, str] | None, format: str
) -> tuple[dict[str, str | None] | None, tuple[str, str] | None]:
    """Return the row in a key, {column: text}, and (code, detail) if it cannot be read."""
    if key is None or key[:1] != b"\0":
        return read_key(key, types), None
    try:
        document, known = _document(key, schema, format, is_row=True)
        row = Rows(known.types).typed(document)
        return {name: text_of(value) for name, value in row.items()}, None
    except Refused as refused:
        return None, (refused.args[0], refused.detail())
    except Exception as error:  # noqa: BLE001 - no message may stop its neighbours
        return None, (_not_a(format), f"the key cannot be read: {reason(error)}")


def _not_a(format: str) -> str:
    return f"not_{format.rpartition('_')[2]}"


def _document(
    value: bytes, schema: Found, format: str, is_row: bool
) -> tuple[dict[str, Any], Schema | Kind]:
    """Return what a value says as a reader of JSON reads it, and what has the types of its rows."""
    if not value:
        raise Refused("empty_value", "the value has no bytes")
    if value[0] or len(value) < HEADER_BYTES:
        detail = f"no registry header: the value begins with {value[:5].hex(' ')}"
        raise Refused(_not_a(format), detail)
    header = HEADER_BYTES
    if not any(value[:HEADER_BYTES]) and len(value) >= LONG_HEADER_BYTES:
        header = LONG_HEADER_BYTES
    number = int.from_bytes(value[1:header], "big")
    if schema is None:
        where = "the registry or folder that avro_schema of seeds/topics.csv names"
        kind = "" if header == HEADER_BYTES else ", an id of eight bytes as Apicurio writes them,"
        raise Refused("unknown_schema", f"schema {number}{kind} is not in {where}{_advice(format)}")
    if isinstance(schema, str):
        raise Refused("unknown_schema", f"schema {number}: {schema}")
    return schema.read(value, header, is_row)


def _advice(format: str) -> str:
    """Say what may be wrong beside an id that is not there."""
    if format == AVRO:
        return ""
    return (
        ", or the registry does not give schemas of Protobuf as descriptors (format=serialized), "
        "as Apicurio does not: name a folder with <id>.desc"
    )
