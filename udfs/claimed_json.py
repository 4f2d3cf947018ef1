"""Read the JSON of a message that may lie in a file outside Kafka (claim check).

`register` makes `claimed_json(value binary, fields string, statement string, claim string,
max_bytes int)` a SQL function; `read` is the same for one value in plain Python. It reads as
`exact_json` does, but a message may have the address of a file in its member `claim`
(`_tidb.claimCheckLocation`): then the message in that file is read in its place, if the file has at
most `max_bytes`. `_claims` says where files are.

Nothing raises but `fields` that cannot be read, and a place of files that cannot be read: no
message is to blame for that, and the next run finds what this one does not.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from udfs._arrow import register_arrow
from udfs._claims import Claims, name_of, place_of
from udfs._json_shapes import Shape, fit_document, misfit, shape_of
from udfs._json_values import Refused
from udfs.exact_json import RETURN_TYPE, Exact, exact, member_at, to_arrow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Bytes of files of which one part is full. Spark hands over thousands of messages at once.
PART = 16 << 20
# What a message that names a file and the one in the file have in common.
SAME = ("type", "database", "table")


def register(spark: SparkSession, project_dir: Path) -> None:
    """Register `claimed_json(value, fields, statement, claim, max_bytes)` in `spark`.

    Workers need jiter and pyarrow, but not this module; and the credentials of S3 in their
    environment, if LAKEHOUSE_CLAIMS of this process is there.

    Raises:
        ValueError: LAKEHOUSE_CLAIMS names no place.
    """
    place, access = place_of(os.environ, project_dir)

    def read_all(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        claims = Claims(place, access)
        gc.disable()  # documents hold no cycles, and it takes long to look for some
        try:
            for columns in batches:
                yield from in_parts(columns, claims)
        finally:
            gc.enable()

    register_arrow(spark, "claimed_json", read_all, RETURN_TYPE)


def in_parts(columns: Sequence[pa.Array], claims: Claims) -> Iterator[pa.Array]:
    """Yield what `read` gives of a batch, in parts: all its files at once may not fit in memory."""
    shapes = {text: shape_of(text) for text in columns[1].unique().to_pylist()}
    rows: list[Exact] = []
    asked = zip(*(each.to_pylist() for each in columns), strict=True)
    for value, fields, statement, claim, max_bytes in asked:
        rows.append(read(value, shapes[fields], statement, claim, max_bytes, claims))
        if claims.size >= PART:
            yield to_arrow(rows)
            rows, claims.size = [], 0
    if rows:
        yield to_arrow(rows)


def read(
    value: bytes | None, shape: Shape, statement: str, claim: str, max_bytes: int, claims: Claims
) -> Exact:
    """Read one Kafka value (bytes or None) of a `shape_of`; return (text, code, detail, stated).

    Codes are those of `exact_json.exact`; missing_image, where there is no such file, or one with
    another change; too_large. What is wrong with a message in a file names the file.

    Raises:
        Unreadable: the place of the files cannot be read.
    """
    naming: list[tuple[dict[str, Any], str]] = []

    def fit(document: Any, shape: Shape) -> dict[str, Any]:
        address = _address(document, claim)
        if address is None:
            return fit_document(document, shape)
        naming.append((document, address))
        return {}

    answer = exact(value, shape, statement, fit)
    if not naming or answer[1]:
        return answer
    named, address = naming[0]

    def fit_claimed(document: Any, shape: Shape) -> dict[str, Any]:
        fitted = fit_document(document, shape)
        if other := _address(document, claim):
            raise Refused("missing_image", f"a message that names another file, {other[:300]}")
        _check_change(named, document)
        return fitted

    try:
        message = claims.message(address, max_bytes)
    except Refused as refused:
        return None, refused.args[0], refused.detail(), None
    text, code, detail, stated = exact(message, shape, statement, fit_claimed)
    if code:
        return None, code, f"in the file {name_of(address)}: {detail}", None
    return message.decode() if text is None else text, None, None, stated


def _address(document: Any, claim: str) -> str | None:
    """Return the address of a file that a document has in a member, None if it has none."""
    found = member_at(document, claim)
    if found is None or type(found) is str:
        return found or None
    refused = misfit("a text", found)
    refused.path = claim.split(".")[::-1]
    raise refused


def _check_change(naming: dict[str, Any], document: dict[str, Any]) -> None:
    """Refuse a file whose message is about another change than the message that names the file."""
    for name in SAME:
        sought, found = naming.get(name), document.get(name)
        if found is None:
            raise Refused("missing_image", f"a message without {name}")
        if sought not in (None, found):
            said = f"a message with {name} {found!r:.50}, where the one that names it has"
            raise Refused("missing_image", f"{said} {sought!r:.50}")
