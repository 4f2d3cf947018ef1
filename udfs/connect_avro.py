"""Read Avro of Kafka Connect's AvroConverter as the JSON that its JsonConverter writes.

`register` makes `connect_avro(value binary, schema string, fields string, statement string,
key binary, key_schema string)` a SQL function; `read` is the same for one message in plain Python.
A value is a registry header (a zero byte, and the id of its schema in four bytes, or in Apicurio's
eight) and an Avro datum of `schema`, the text of that schema; null if nobody knows it. A key is the
same, or JSON. The other arguments and what it gives back are as of `connect_json`:

- `text`: the datum as `from_json` has to read it, its rows in canonical text; bytes as Base64;
- `types`: by column of the row, or of the rows `before` and `after`, its type;
- `problem`: why the value or the key cannot be read, null if they can.

Nothing raises but `fields` that cannot be read.
"""

from __future__ import annotations

import gc
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from fastavro import schemaless_reader

from udfs import ddl, exact_json
from udfs._arrow import register_arrow
from udfs._avro_reader import avro_reason
from udfs._avro_refused import reason, remembered
from udfs._connect_schema import Schema
from udfs._debezium_rows import Rows
from udfs._debezium_values import text_of
from udfs._json_shapes import Shape, fit_document, shape_of
from udfs._json_values import Refused, write
from udfs.connect_json import RETURN_TYPE, read_key, to_arrow
from udfs.exact_json import Exact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A zero byte, and an id; Confluent numbers from 1, so that no id is an id of eight bytes.
HEADER_BYTES, LONG_HEADER_BYTES = 5, 9


def register(spark: SparkSession, project_dir: Path) -> None:
    """Register `connect_avro(value, schema, fields, statement, key, key_schema)` in `spark`.

    Workers need fastavro, jiter and pyarrow, but not this module.
    """
    found_schema = remembered(_schema_of)

    def schema_of(text: str | None) -> Schema | str | None:
        return None if text is None else found_schema(text)

    def read_all(
        values: pa.Array,
        schemas: pa.Array,
        fields: pa.Array,
        statements: pa.Array,
        keys: pa.Array,
        key_schemas: pa.Array,
    ) -> pa.Array:
        shapes = {text: shape_of(text) for text in fields.unique().to_pylist()}
        asked = (values, schemas, fields, statements, keys, key_schemas)
        columns = (each.to_pylist() for each in asked)
        gc.disable()  # documents hold no cycles, and it takes long to look for some
        try:
            return to_arrow(
                [
                    read(value, schema_of(text), shapes[shape], path, key, schema_of(key_text))
                    for value, text, shape, path, key, key_text in zip(*columns, strict=True)
                ]
            )
        finally:
            gc.enable()

    register_arrow(spark, "connect_avro", read_all, RETURN_TYPE)


def _schema_of(text: str) -> Schema | str:
    """Return the Schema of a text, or the sentence that says why there is none."""
    try:
        return Schema(text)
    except Exception as error:  # noqa: BLE001 - no schema may stop the messages of others
        return f"its schema cannot be read: {reason(error)}"


def read(
    value: bytes | None,
    schema: Schema | str | None,
    shape: Shape,
    statement: str = "",
    key: bytes | None = None,
    key_schema: Schema | str | None = None,
) -> tuple[*Exact, dict[str, str] | None, bool, dict[str, str | None] | None]:
    """Read one Kafka value (bytes or None) of a `Schema`, and its key.

    Returns (text, code, detail, stated, types, is_whole, key). A schema is None if it is not known,
    a sentence if it cannot be read. Never raises. Codes: empty_value, not_avro, unknown_schema,
    wrong_type (a field is not of its type).
    """
    text, code, detail, stated, rows = _read(value, schema, shape, statement)
    row, problem = _read_key(key, key_schema, rows.types)
    if problem and code is None:
        (code, detail), text, stated = problem, None, None
    return text, code, detail, stated, rows.types, rows.is_whole, row


def _read(
    value: bytes | None, schema: Schema | str | None, shape: Shape, statement: str
) -> tuple[*Exact, Rows]:
    """Return text, code, detail and stated of a value, and its Rows."""
    if value is None:
        return None, None, None, None, Rows()
    try:
        document, known = _document(value, schema)
        rows = Rows(known.types, known.declared)
        fitted = fit_document(rows.typed_images(document), shape)
        stated = ddl.read(exact_json.text_at(document, statement)) if statement else None
        return write(fitted), None, None, stated, rows
    except Refused as refused:
        return None, refused.args[0], refused.detail(), None, Rows()
    except Exception as error:  # noqa: BLE001 - no message may stop its neighbours
        return None, "not_avro", f"cannot be read: {reason(error)}", None, Rows()


def _read_key(
    key: bytes | None, schema: Schema | str | None, types: dict[str, str] | None
) -> tuple[dict[str, str | None] | None, tuple[str, str] | None]:
    """Return the row in a key, {column: text}, and (code, detail) if it cannot be read."""
    if key is None or key[:1] != b"\0":
        return read_key(key, types), None
    try:
        document, known = _document(key, schema)
        row = Rows(known.types).typed(document)
        return {name: text_of(value) for name, value in row.items()}, None
    except Refused as refused:
        return None, (refused.args[0], refused.detail())
    except Exception as error:  # noqa: BLE001 - no message may stop its neighbours
        return None, ("not_avro", f"the key cannot be read: {reason(error)}")


def _document(value: bytes, schema: Schema | str | None) -> tuple[dict[str, Any], Schema]:
    if not value:
        raise Refused("empty_value", "the value has no bytes")
    if value[0] or len(value) < HEADER_BYTES:
        raise Refused("not_avro", f"no registry header: the value begins with {value[:5].hex(' ')}")
    header = HEADER_BYTES
    if not any(value[:HEADER_BYTES]) and len(value) >= LONG_HEADER_BYTES:
        header = LONG_HEADER_BYTES
    number = int.from_bytes(value[1:header], "big")
    if schema is None:
        where = "the registry or folder that avro_schema of seeds/topics.csv names"
        kind = "" if header == HEADER_BYTES else ", an id of eight bytes as Apicurio writes them,"
        raise Refused("unknown_schema", f"schema {number}{kind} is not in {where}")
    if isinstance(schema, str):
        raise Refused("unknown_schema", f"schema {number}: {schema}")
    stream = BytesIO(value)
    stream.seek(header)
    try:
        datum = schemaless_reader(stream, schema.parsed, None)
    except Exception as error:  # noqa: BLE001 - bytes raise anything
        detail = f"no datum of schema {number}, {schema.name}: {avro_reason(error)}"
        raise Refused("not_avro", detail) from None
    left = len(value) - stream.tell()
    if left:
        detail = f"{left} of {len(value)} bytes are left over after a datum of schema {number}"
        raise Refused("not_avro", detail)
    return schema.document(datum), schema
