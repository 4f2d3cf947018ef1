"""MongoDB's own change events as messages of rows: the fields of a document are its columns.

Documents are in a mode of Extended JSON, and become rows as those of Debezium do (`_mongodb`).
"""

from __future__ import annotations

import re
from typing import Any

from udfs._json_shapes import is_beside_schema, misfit
from udfs._json_values import Number, Refused
from udfs._mongodb import KEY, Row, patch, read_document, row_of, value_of, values_of

OPERATION = "operationType"
# What the model reads as it stands in an event.
_KEPT = (OPERATION, "ns", "to", "splitEvent")
_LOOKUP = "change.stream.full.document to updateLookup"
_NUMBERS = ("$numberInt", "$numberLong", "$numberDouble")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def event_of(found: Any) -> Any:
    """Return the event in a Kafka value: it, a text of JSON, or such a text beside its schema.

    Raises:
        Refused: it is no JSON, or another thing stands beside the schema.
    """
    if isinstance(found, dict) and is_beside_schema(found, "payload"):
        found = found["payload"]
        if type(found) is not str:
            said = "no text beside the schema: let the connector write output.format.value = json"
            refused = Refused("wrong_type", said)
            refused.path = ["payload"]
            raise refused
    return read_document(found) if type(found) is str else found


def as_rows(event: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str], bool]:
    """Return an event with rows in place of documents, and numbers and times as canonical text.

    Returns:
        The event, the types of the columns, and whether the row after the change is whole.

    Raises:
        Refused: a document is none, or a change cannot be known without the document.
    """
    types: dict[str, str] = {}
    rows, is_whole = _images(event, types)
    token, clock, session = (event.get(name) for name in ("_id", "clusterTime", "lsid"))
    values = {
        "lsid": session.get("id") if isinstance(session, dict) else None,
        "txnNumber": event.get("txnNumber"),
        "wallTime": event.get("wallTime"),
    }
    kept = {
        # That of a document that is no event may be anything.
        "_id": token if isinstance(token, dict) else None,
        "clusterTime": clock.get("$timestamp") if isinstance(clock, dict) else clock,
        **{name: event.get(name) for name in _KEPT},
    }
    texts = {name: value_of(value)[0] for name, value in values.items()}
    return {**kept, **rows, **texts}, types, is_whole


def _images(event: dict[str, Any], types: dict[str, str]) -> tuple[dict[str, Row | None], bool]:
    """Return the rows before and after a change, and whether that after it is whole."""
    operation = event.get(OPERATION)
    names = ("fullDocumentBeforeChange", "fullDocument", "updateDescription", "documentKey")
    before, after, changes, key = (_document(event, name) for name in names)
    rows = {"before": row_of(before, types), "after": row_of(after, types)}
    is_whole = operation != "update" or after is not None or changes is None
    if not is_whole and changes:
        rows["after"] = patch(changes, types, _LOOKUP)
    # The key of a sharded collection has more fields, of which an update says the old values.
    is_key_alone = operation == "delete" and before is None
    fields = (key or {}).items()
    known = ((name, _in_one_mode(each)) for name, each in fields if is_key_alone or name == KEY)
    of_key = values_of(known, types)
    if is_key_alone:
        rows["before"] = of_key or None
    return {name: row and {**row, **of_key} for name, row in rows.items()}, is_whole


def _document(event: dict[str, Any], name: str) -> dict[str, Any] | None:
    found = event.get(name)
    if found is not None and not isinstance(found, dict):
        refused = misfit("a document", found)
        refused.path = [name]
        raise refused
    return found


def _in_one_mode(found: Any) -> Any:
    """Return a value with its numbers as JSON has them, as not each mode writes them.

    A row is found by the text of its key, which is to be one text whatever the mode.
    """
    if isinstance(found, list):
        return [_in_one_mode(each) for each in found]
    if not isinstance(found, dict):
        return found
    for text in map(found.get, _NUMBERS):
        if type(text) is str and _NUMBER.fullmatch(text):
            return Number(text)
    return {name: _in_one_mode(each) for name, each in found.items()}
