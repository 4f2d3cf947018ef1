"""Read Avro of Kafka Connect's AvroConverter as the JSON that its JsonConverter writes.

`register` makes `connect_avro(value binary, schema string, fields string, statement string)` a SQL
function; `read` is the same for one value in plain Python. A value is a registry header (a zero
byte, and the id of its schema in four bytes) and an Avro datum of `schema`, the text of that
schema; null if nobody knows it. `fields` and `statement` are as of `exact_json`. It gives back

- `text`: the datum as `from_json` has to read it; bytes as Base64;
- `types`: by column of the row, or of the rows `before` and `after`, the type that
  `debezium_image` wants;
- `problem`: why the value cannot be read, null if it can;
- `stated`: what its DDL does, as `read_ddl` says it.

Nothing raises but `fields` that cannot be read.
"""

import gc
from io import BytesIO

import pyarrow as pa
from fastavro import schemaless_reader

from udfs import ddl, exact_json
from udfs._avro_reader import avro_reason
from udfs._avro_refused import reason, remembered
from udfs._connect_schema import Schema
from udfs._json_shapes import fit_document, shape_of
from udfs._json_values import Refused, write

RETURN_TYPE = f"{exact_json.RETURN_TYPE}, types map<string, string>"
HEADER_BYTES = 5


def register(spark, project_dir):
    """Register `connect_avro(value, schema, fields, statement)` in `spark`.

    Workers need fastavro and pyarrow, but not this module.
    """
    from pyspark.sql.functions import arrow_udf

    schema_of = remembered(_schema_of)

    def read_all(
        values: pa.Array, schemas: pa.Array, fields: pa.Array, statements: pa.Array
    ) -> pa.Array:
        shapes = {text: shape_of(text) for text in fields.unique().to_pylist()}
        columns = (each.to_pylist() for each in (values, schemas, fields, statements))
        gc.disable()  # documents hold no cycles, and it takes long to look for some
        try:
            return to_arrow(
                [
                    read(value, None if text is None else schema_of(text), shapes[asked], path)
                    for value, text, asked, path in zip(*columns, strict=True)
                ]
            )
        finally:
            gc.enable()

    spark.udf.register("connect_avro", arrow_udf(read_all, RETURN_TYPE))


def to_arrow(rows):
    """Return tuples (text, code, detail, stated, types) as a pyarrow array of RETURN_TYPE."""
    exact = exact_json.to_arrow([row[:4] for row in rows])
    types = [None if row[4] is None else list(row[4].items()) for row in rows]
    return pa.StructArray.from_arrays(
        [*exact.flatten(), pa.array(types, pa.map_(pa.string(), pa.string()))],
        names=["text", "problem", "stated", "types"],
    )


def _schema_of(text):
    """Return the Schema of a text, or the sentence that says why there is none."""
    try:
        return Schema(text)
    except Exception as error:  # noqa: BLE001 - no schema may stop the messages of others
        return f"its schema cannot be read: {reason(error)}"


def read(value, schema, shape, statement=""):
    """Read one Kafka value (bytes or None) of a `Schema`; return (text, code, detail, stated,
    types).

    `schema` is None if it is not known, a sentence if it cannot be read. Never raises. Codes:
    empty_value, not_avro, unknown_schema, wrong_type (a field is not of its type).
    """
    if value is None:
        return None, None, None, None, None
    try:
        document = _document(value, schema)
        fitted = fit_document(document, shape)
        stated = ddl.read(exact_json.text_at(document, statement)) if statement else None
        return write(fitted), None, None, stated, schema.types
    except Refused as refused:
        return None, refused.args[0], refused.detail(), None, None
    except Exception as error:  # noqa: BLE001 - no message may stop its neighbours
        return None, "not_avro", f"cannot be read: {reason(error)}", None, None


def _document(value, schema):
    if not value:
        raise Refused("empty_value", "the value has no bytes")
    if value[0] or len(value) < HEADER_BYTES:
        raise Refused("not_avro", f"no registry header: the value begins with {value[:5].hex(' ')}")
    number = int.from_bytes(value[1:HEADER_BYTES], "big")
    if schema is None:
        where = "the registry or folder that avro_schema of seeds/topics.csv names"
        raise Refused("unknown_schema", f"schema {number} is not in {where}")
    if isinstance(schema, str):
        raise Refused("unknown_schema", f"schema {number}: {schema}")
    stream = BytesIO(value)
    stream.seek(HEADER_BYTES)
    try:
        datum = schemaless_reader(stream, schema.parsed, None)
    except Exception as error:  # noqa: BLE001 - bytes raise anything
        detail = f"no datum of schema {number}, {schema.name}: {avro_reason(error)}"
        raise Refused("not_avro", detail) from None
    left = len(value) - stream.tell()
    if left:
        detail = f"{left} of {len(value)} bytes are left over after a datum of schema {number}"
        raise Refused("not_avro", detail)
    return schema.document(datum)
