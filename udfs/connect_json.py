"""Read JSON of Kafka Connect, its rows in canonical text.

It is the JSON of a JsonConverter; or that of a JsonSchemaConverter, behind the id of a schema that
only the registry has.

`register` makes `connect_json(value binary, fields string, statement string, key binary)` a SQL
function; `read` is the same for one message in plain Python. `fields` and `statement` are as of
`exact_json`. Beside what that gives back there are

- `types`: of each column of a row the type that the schema beside the message says, null without;
- `is_whole`: whether the row, or that after the change, has all values (see `_debezium_values`);
- `key`: the row in the message's key, null if the key holds none.

Columns of a key have the types that the schema of the key says, else those of the value's, and the
other way round. What has no type stays as sent. Nothing raises but `fields` that cannot be read.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from udfs import exact_json
from udfs._arrow import register_arrow
from udfs._avro import map_column
from udfs._debezium_rows import Rows
from udfs._debezium_values import text_of
from udfs._json_shapes import Shape, shape_of
from udfs._mongodb import key_of
from udfs.exact_json import Exact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RETURN_TYPE = (
    f"{exact_json.RETURN_TYPE}, types map<string, string>, is_whole boolean, "
    "key map<string, string>"
)
_KEY = shape_of('payload map<string, string> comment "or the document"')


def register(spark: SparkSession, project_dir: Path) -> None:
    """Register `connect_json(value, fields, statement, key)` in `spark`.

    Workers need jiter and pyarrow, but not this module.
    """

    def read_all(
        values: pa.Array, fields: pa.Array, statements: pa.Array, keys: pa.Array
    ) -> pa.Array:
        shapes = {text: shape_of(text) for text in fields.unique().to_pylist()}
        columns = (each.to_pylist() for each in (values, fields, statements, keys))
        gc.disable()  # documents hold no cycles, and it takes long to look for some
        try:
            return to_arrow(
                [
                    read(value, shapes[text], path, key)
                    for value, text, path, key in zip(*columns, strict=True)
                ]
            )
        finally:
            gc.enable()

    register_arrow(spark, "connect_json", read_all, RETURN_TYPE)


def to_arrow(rows: Sequence[tuple[Any, ...]]) -> pa.StructArray:
    """Return tuples (text, code, detail, stated, types, is_whole, key) as an array of pyarrow."""
    exact = exact_json.to_arrow([row[:4] for row in rows])
    types, wholes, keys = zip(*(row[4:] for row in rows), strict=True) if rows else ((), (), ())
    return pa.StructArray.from_arrays(
        [*exact.flatten(), map_column(types), pa.array(wholes, pa.bool_()), map_column(keys)],
        names=["text", "problem", "stated", "types", "is_whole", "key"],
    )


def read(
    value: bytes | None, shape: Shape, statement: str = "", key: bytes | None = None
) -> tuple[*Exact, dict[str, str] | None, bool, dict[str, str | None] | None]:
    """Read one Kafka value (bytes or None) of a `shape_of`, and its key.

    Returns (text, code, detail, stated, types, is_whole, key). Never raises. Codes are those of
    `exact_json.exact`.
    """
    of_key = _rows_of_key(key)
    rows = Rows(of_key.types, key=of_key.row)
    document = _without_header(value)
    text, code, detail, stated = exact_json.exact(document, shape, statement, rows.fit)
    if document and document is not value and text is None and code is None:
        text = document.decode()
    types = rows.types if rows.has_types else None
    texts = key_of(of_key.row) if rows.is_of_documents else _texts_of(of_key, types)
    return text, code, detail, stated, types, rows.is_whole, texts


def read_key(key: bytes | None, types: dict[str, str] | None) -> dict[str, str | None] | None:
    """Return the row in a key (bytes or None) that is JSON, {column: text}; None if it has none.

    `types` are those of the columns where the key has no schema beside it.
    """
    return _texts_of(_rows_of_key(key), types)


def _without_header(value: bytes | None) -> bytes | None:
    """Return a value without the header of a schema registry: a zero byte and the schema's id.

    The id has four bytes, or eight as Apicurio writes it.
    """
    if value is not None and value[:1] == b"\0":
        for length in (5, 9):
            if value[length : length + 1] == b"{":
                return value[length:]
    return value


def _rows_of_key(key: bytes | None) -> Rows:
    rows = Rows()
    document = _without_header(key)
    if document is None or exact_json.exact(document, _KEY, "", rows.fit)[1]:
        return Rows()
    return rows


def _texts_of(of_key: Rows, types: dict[str, str] | None) -> dict[str, str | None] | None:
    row = of_key.row
    if row is not None and of_key.types is None:
        row = Rows(types).typed(row)
    try:
        return None if row is None else {name: text_of(value) for name, value in row.items()}
    except RecursionError:  # hundreds of levels: no key of a table
        return None
