"""Read the JSON of a message without losing anything of it.

`register` makes `exact_json(value binary, fields string, statement string)` a SQL function; `exact`
is the same for one value in plain Python. `fields` are the members that a model reads, in the words
of Spark's `from_json`; `statement` names the one that holds DDL (`payload.ddl.text`; several, where
messages differ, divided by commas), empty if none does. The function gives back

- `text`: what `from_json` has to read in place of the value, null where the value will do. It
  differs where `from_json` would alter a value: a fraction becomes a text of the same characters,
  and so does an object or a list that is a value of a row (of a `map<string, string>`). Of a
  CloudEvent it is the message in its data.
- `problem`: why the value is not one exact JSON object with fields of these types, null if it is;
- `stated`: what the DDL does, as `read_ddl` says it; null where there is none.

Nothing raises but `fields` that cannot be read.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from udfs import ddl
from udfs._arrow import register_arrow
from udfs._cloud_events import message_of
from udfs._json_reading import read_quickly, read_slowly
from udfs._json_shapes import FitDocument, Shape, fit_document, shape_of
from udfs._json_values import Refused, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RETURN_TYPE = (
    f"text string, problem struct<code: string, detail: string>, stated struct<{ddl.RETURN_TYPE}>"
)
# Text, code, detail, stated: see `exact`.
Exact = tuple[str | None, str | None, str | None, dict[str, Any] | None]
BOM = b"\xef\xbb\xbf"


def register(spark: SparkSession, project_dir: Path) -> None:
    """Register `exact_json(value binary, fields string, statement string)` in `spark`.

    Workers need jiter and pyarrow, but not this module.
    """

    def read_all(values: pa.Array, fields: pa.Array, statements: pa.Array) -> pa.Array:
        shapes = {text: shape_of(text) for text in fields.unique().to_pylist()}
        asked = zip(values.to_pylist(), fields.to_pylist(), statements.to_pylist(), strict=True)
        gc.disable()  # documents hold no cycles, and it takes long to look for some
        try:
            return to_arrow([exact(value, shapes[text], path) for value, text, path in asked])
        finally:
            gc.enable()

    register_arrow(spark, "exact_json", read_all, RETURN_TYPE)


def to_arrow(rows: Sequence[Exact]) -> pa.StructArray:
    """Return tuples (text, code, detail, stated) as a pyarrow StructArray of RETURN_TYPE."""
    *columns, stated = zip(*rows, strict=True) if rows else [()] * 4
    texts, codes, details = (pa.array(column, pa.string()) for column in columns)
    problems = pa.StructArray.from_arrays(
        [codes, details], names=["code", "detail"], mask=codes.is_null()
    )
    return pa.StructArray.from_arrays(
        [texts, problems, ddl.to_arrow(stated)], names=["text", "problem", "stated"]
    )


def exact(
    value: bytes | None, shape: Shape, statement: str = "", fit: FitDocument = fit_document
) -> Exact:
    """Read one Kafka value (bytes or None) of a `shape_of`; return (text, code, detail, stated).

    `statement` is the path of the member that holds DDL, `stated` what `ddl.read` says of it.
    `fit(document, shape)` returns the document as `from_json` has to read it.
    Never raises. Codes: empty_value, not_utf8 (half of a surrogate pair, too), not_json (not one
    JSON object), wrong_type (a field is not of its type), duplicate_keys.
    """
    if value is None:
        return None, None, None, None
    try:
        text, found = _exact(value, shape, lambda event, shape: fit(message_of(event), shape))
        return text, None, None, ddl.read(text_at(found, statement)) if statement else None
    except Refused as refused:
        before = "behind a BOM, " if value.startswith(BOM) else ""
        return None, refused.args[0], before + refused.detail(), None
    except Exception as error:  # noqa: BLE001 - no message may stop its neighbours
        return None, "not_json", f"cannot be read: {type(error).__name__}: {str(error)[:200]}", None


def text_at(found: Any, path: str) -> str | None:
    """Return the text of a member of a document, None if it has none there.

    Of several paths, divided by commas, the first counts that leads to a text.
    """
    members = (member_at(found, each) for each in path.split(","))
    return next((member for member in members if isinstance(member, str)), None)


def member_at(found: Any, path: str) -> Any:
    """Return a member of a document by the names that lead to it, None if it has none there."""
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _exact(value: bytes, shape: Shape, fit: FitDocument) -> tuple[str | None, Any]:
    """Return the text that `from_json` has to read, None if the value will do, and the document."""
    if not value:
        raise Refused("empty_value", "the value has no bytes")
    has_bom = value.startswith(BOM)
    document = value[len(BOM) :] if has_bom else value
    found = read_quickly(document)
    if found is None:
        return read_slowly(value, shape, fit)
    fitted = fit(found, shape)
    if fitted is not found:
        return write(fitted), fitted
    return document.decode() if has_bom else None, found
