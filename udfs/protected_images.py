"""Row images without the clear values of protected columns: hashed, masked or left out.

The key of the hash comes from the environment of the process that calls, and goes nowhere.
"""

from __future__ import annotations

import hmac
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from udfs._arrow import register_arrow
from udfs._avro_refused import remembered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEY = "LAKEHOUSE_HASH_KEY"
# Which process has started Spark, if it says so; the key comes from there.
STARTED_BY = "LAKEHOUSE_STARTED_BY"
_MAP = pa.map_(pa.string(), pa.string())
_IMAGES = pa.struct({"before": _MAP, "after": _MAP, "column_types": _MAP})
# A map of Arrow: its names and values.
Pairs = Sequence[tuple[str, str | None]]
Protected = dict[str, Pairs | None]
RETURN_TYPE = (
    "before map<string, string>, after map<string, string>, column_types map<string, string>"
)


def register(spark: SparkSession, _project_dir: Path) -> None:
    """Register `protected_images` and `pseudonym` in the session `spark`.

    `protected_images(rules, layer, key_number, names, key_columns, before, after, column_types)`
    returns the last three as the rules of a layer want them; all null where `rules` are. `names`
    are those of the database, the schema and the table. `pseudonym(value)` is what the method hash
    makes of a value.
    """

    def protect_all(
        rules: pa.Array,
        layer: pa.Array,
        key_number: pa.Array,
        names: pa.Array,
        key_columns: pa.Array,
        before: pa.Array,
        after: pa.Array,
        column_types: pa.Array,
    ) -> pa.Array:
        arguments = (rules, layer, key_number, names, key_columns, before, after, column_types)
        rows = zip(*(each.to_pylist() for each in arguments), strict=True)
        return to_arrow([protect(*row) for row in rows])

    def hash_all(values: pa.Array) -> pa.Array:
        key = key_of_hash()
        return pa.array([hashed(value, key) for value in values.to_pylist()], pa.string())

    register_arrow(spark, "protected_images", protect_all, RETURN_TYPE)
    register_arrow(spark, "pseudonym", hash_all, "string")


def to_arrow(rows: Iterable[Protected | None]) -> pa.StructArray:
    """Return what `protect` gave of rows as a pyarrow StructArray of RETURN_TYPE."""
    return pa.array(rows, _IMAGES)


def key_of_hash(number: str | None = None) -> bytes:
    """Return the key, and refuse one that is missing, or has not the number that is wanted."""
    key = os.environ.get(KEY, "")
    by = os.environ.get(STARTED_BY)
    where = f"where {by} was started" if by else "where Spark runs its Python functions"
    if not key:
        raise ValueError(f"{KEY} is not set {where}. Set it there, and start that again")
    if number is not None and number_of_key(key) != number:
        raise ValueError(f"{KEY} is another one {where}. Set the same there, and start that again")
    return key.encode()


def number_of_key(key: str) -> str:
    """Return a number for a key, from which nobody can tell it.

    It is remembered nowhere: what is remembered travels with the functions, the key must not.
    """
    return hmac.digest(key.encode(), b"cdc_lakehouse: number of the key", sha256).hex()[:16]


def protect(
    rules: str | None,
    layer: str,
    key_number: str | None,
    names: Sequence[str | None],
    key_columns: Sequence[str] | None,
    before: Pairs | None,
    after: Pairs | None,
    column_types: Pairs | None,
) -> Protected | None:
    """Return images and types with the columns protected that the rules of a layer name."""
    if rules is None:
        return None
    key, of_key = key_of_hash(key_number), set(key_columns or ())
    of_table = _methods((rules, layer, *names))

    def image(pairs: Pairs | None) -> Pairs | None:
        if pairs is None:
            return None
        kept = []
        for name, value in pairs:
            method = of_table(name)
            # Without its key a row is nowhere, and with half of it in the place of another.
            if name in of_key and method is not None:
                method = "hash"
            if method != "drop":
                kept.append((name, value if method is None else METHODS[method](value, key)))
        return kept

    types = column_types and [(name, each) for name, each in column_types if not of_table(name)]
    return {"before": image(before), "after": image(after), "column_types": types}


def method_of(
    rules: str, layer: str, database: str | None, schema: str | None, table: str | None, column: str
) -> str | None:
    """Return how a column is protected in a layer, None if it is not: the first rule decides."""
    return _methods((rules, layer, database, schema, table))(column)


@remembered
def _methods(of: tuple[Any, ...]) -> Callable[[str], str | None]:
    """Return what tells the method of a column of one table, by its name."""
    rules, layer, *names = of

    def method(column: str) -> str | None:
        for *patterns, found, of_layer in _parsed(rules):
            pairs = zip(patterns, (*names, column), strict=True)
            if all(re.search(pattern, name or "") for pattern, name in pairs):
                return found if of_layer == layer else None
        return None

    return remembered(method)


@remembered
def _parsed(rules: str) -> list[list[str]]:
    parsed: list[list[str]] = json.loads(rules)
    return parsed


def hashed(value: str | None, key: bytes) -> str | None:
    """Return HMAC-SHA256 of a text, in hexadecimal digits; null of null."""
    return None if value is None else hmac.digest(key, value.encode(), sha256).hex()


def masked(value: str | None, _key: bytes | None = None) -> str | None:
    """Return four stars and the end of a text: a quarter of it, at most four characters."""
    if value is None:
        return None
    kept = min(4, len(value) // 4)
    return "****" + value[len(value) - kept :]


METHODS: dict[str, Callable[[str | None, bytes], str | None]] = {"hash": hashed, "mask": masked}
