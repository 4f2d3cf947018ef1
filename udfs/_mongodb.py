"""Debezium's messages of MongoDB as those of a table: the fields of a document are its columns.

A document is a text of MongoDB's Extended JSON, in any of its modes. Of its fields there are the
values in canonical text, and their types in the words that Debezium has for other databases;
`document` is all of it, as JSON. A message that has the changed fields alone is a partial update.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from udfs._avro_text import plain_decimal
from udfs._debezium_values import canonical, no_value_of, text_of
from udfs._json_reading import read_quickly, read_slowly
from udfs._json_shapes import Shape, misfit
from udfs._json_values import Refused, json_text

KEY, DOCUMENT = "_id", "document"
JSON, MOMENT = "io.debezium.data.Json", "io.debezium.time.ZonedTimestamp"
DECIMAL = "io.debezium.data.VariableScaleDecimal"
_INTEGER = re.compile(r"-?[0-9]+")
_BEYOND = (
    "updateDescription changes {}, which is inside of a field, and the document is not in the "
    "message: set {} (it is also null where the document was deleted before the connector looked "
    "it up)"
)
Row = dict[str, Any]


def is_of_mongodb(message: dict[str, Any]) -> bool:
    """Tell whether a Debezium message is of MongoDB."""
    source = message.get("source")
    return isinstance(source, dict) and source.get("connector") == "mongodb"


def as_of_a_table(message: dict[str, Any], key: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a message with rows in place of documents, and the types of their columns.

    An update with its document begins the row anew, as an insert does: what the document lacks is
    not there any more.

    Args:
        key: the row of the message's key, `{"id": TEXT}`, the text being JSON; or None.

    Raises:
        Refused: a document is none, or a change cannot be known without the document.
    """
    types: dict[str, str] = {}
    rows = {name: row_of(_document(message, name), types) for name in ("before", "after")}
    operation, changes = message.get("op"), message.get("updateDescription")
    if operation == "u" and rows["after"]:
        operation = "c"
    elif operation == "u" and isinstance(changes, dict):
        changes = {**changes, "updatedFields": _document(changes, "updatedFields")}
        rows["after"] = patch(changes, types, "capture.mode to change_streams_update_full")
    of_key = key_of(key) or {}
    rows = {name: row and {**row, **of_key} for name, row in rows.items()}
    return {**message, **rows, "op": operation, "source": _source(message)}, types


def key_of(key: Any) -> Row | None:
    """Return the column that a message's key is: `_id` in canonical text; None if it is no key."""
    text = key.get("id") if isinstance(key, dict) else None
    if not isinstance(text, str):
        return None
    # The key has always the same JSON; that of documents has modes, which write numbers otherwise.
    try:
        value, _ = value_of(read_document(f'{{"_":{text}}}')["_"])
    except Refused:
        said = f"the id in the key of the message is no JSON: {text[:50]!r}"
        raise Refused("wrong_type", said) from None
    return {KEY: value}


def _source(message: dict[str, Any]) -> dict[str, Any]:
    """Return `source` with a table, and a transaction where it names one of a session."""
    source = message["source"]
    named = {**source, "table": source.get("collection")}
    session, number = source.get("lsid"), source.get("txnNumber")
    if isinstance(session, str) and number is not None:
        named["txId"] = f"{session}:{number}"
    return named


def _document(message: dict[str, Any], name: str) -> dict[str, Any] | None:
    text = message.get(name)
    if text is None:
        return None
    try:
        if type(text) is not str:
            raise misfit("a text", text)
        return read_document(text)
    except Refused as refused:
        refused.path.append(name)
        raise


def read_document(text: str) -> dict[str, Any]:
    """Return the document of a text of JSON.

    Raises:
        Refused: it is none.
    """
    found = read_quickly(text.encode())
    if found is None:
        _, found = read_slowly(text.encode(), Shape(), lambda document, shape: document)
    if not isinstance(found, dict):
        raise misfit("a document", found)
    return found


def row_of(document: dict[str, Any] | None, types: dict[str, str]) -> Row | None:
    """Return a document as a row, and note the types of its values."""
    if document is None:
        return None
    return {**values_of(document.items(), types), DOCUMENT: json_text(document)}


def values_of(fields: Iterable[tuple[str, Any]], types: dict[str, str]) -> Row:
    """Return fields of a document as columns, and note the types of their values."""
    row = {}
    for name, found in fields:
        if name != DOCUMENT:  # it is in the document
            row[name], kind = value_of(found)
            if kind:
                types[name] = kind
    return row


def patch(changes: dict[str, Any], types: dict[str, str], setting: str) -> Row:
    """Return the fields that a change has set or removed; the document is not known any more.

    Args:
        changes: `updateDescription`, with a document in `updatedFields`.
        setting: what makes the producer send the document.

    Raises:
        Refused: a field was changed in a part.
    """
    updated = changes.get("updatedFields") or {}
    removed = list(changes.get("removedFields") or ())
    truncated = [each.get("field") for each in changes.get("truncatedArrays") or ()]
    # A path of one name is a field whose name has a dot.
    paths = changes.get("disambiguatedPaths") or {}
    dotted = (name for name in (*updated, *removed) if "." in name)
    for name in (*truncated, *(name for name in dotted if len(paths.get(name, ())) != 1)):
        raise Refused("missing_image", _BEYOND.format(name, setting))
    return {**dict.fromkeys((DOCUMENT, *removed)), **values_of(updated.items(), types)}


def value_of(found: Any) -> tuple[str | None, str | None]:
    """Return the canonical text of a value of a field, and its type."""
    if found is None:
        return None, None
    if type(found) is str:
        return found, "string"
    if type(found) is bool:
        return ("1" if found else "0"), "boolean"
    if isinstance(found, dict):
        name = next(iter(found), "")
        read = None if found.get(name) is None else _EXTENDED.get(name)
        return read(found, found[name]) if read else (json_text(found), JSON)
    if isinstance(found, list):
        return json_text(found), JSON
    text = str(found)
    if _INTEGER.fullmatch(text):
        return ("0" if text == "-0" else text), "int64"
    return text, "double"


def _decimal(whole: dict[str, Any], found: Any) -> tuple[str, str]:
    try:
        return plain_decimal(found), DECIMAL
    except (Refused, TypeError):
        return no_value_of("decimal", whole), DECIMAL


def _date(whole: dict[str, Any], found: Any) -> tuple[str, str]:
    if isinstance(found, dict):
        found = found.get("$numberLong")
    if found is None:
        return no_value_of("date", whole), MOMENT
    if type(found) is str and not _INTEGER.fullmatch(found):
        text = canonical(found, MOMENT)
        return (text if text != found else no_value_of("date", whole)), MOMENT
    return str(canonical(found, "io.debezium.time.Timestamp")), MOMENT


def _binary(whole: dict[str, Any], found: Any) -> tuple[str, str]:
    text = found.get("base64") if isinstance(found, dict) else found
    return (no_value_of("bytes", whole) if text is None else str(canonical(text, "bytes"))), "bytes"


def _named(kind: str) -> Callable[[dict[str, Any], Any], tuple[str | None, str]]:
    """Return the reader of a value that is a text behind the name of its type."""
    return lambda whole, found: (text_of(found), kind)


# The first member of an object that Extended JSON writes in place of a value.
_EXTENDED: dict[str, Callable[[dict[str, Any], Any], tuple[str | None, str | None]]] = {
    "$oid": _named("string"),
    "$symbol": _named("string"),
    "$numberInt": _named("int32"),
    "$numberLong": _named("int64"),
    "$numberDouble": _named("double"),
    "$numberDecimal": _decimal,
    "$date": _date,
    "$binary": _binary,
    "$uuid": lambda whole, found: (str(found).replace("-", ""), "bytes"),
    "$undefined": lambda whole, found: (None, None),
}
