"""The rows of one message of Kafka Connect, with the types that it gives their columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from udfs._change_stream import OPERATION, as_rows, event_of
from udfs._debezium_values import canonical, is_unavailable
from udfs._json_shapes import Shape, fit_document, is_beside_schema, misfit
from udfs._json_values import Refused, Repeating
from udfs._mongodb import as_of_a_table, is_of_mongodb

DECIMAL = "org.apache.kafka.connect.data.Decimal"
UNAVAILABLE = "__debezium.unavailable.value.placeholder"
IMAGES = ("before", "after")


class Rows:
    """What is known of the rows of a message, and what was found in them.

    Attributes:
        types: {column: type}: those of the message's schema, else those that are given; or None.
        has_types: whether the message has a schema of rows, or a row, that the types belong to.
        declared: {column: placeholder of a value that was not sent} where the schema says it.
        is_whole: whether the row, or the one after the change, has a value for all of its columns.
        row: of a message that is one row, that row; None if it is null.
        is_of_documents: whether the rows are documents of MongoDB, as Debezium has them.
    """

    def __init__(
        self,
        types: dict[str, str] | None = None,
        declared: dict[str, str] | None = None,
        key: dict[str, Any] | None = None,
    ) -> None:
        self.types, self.declared, self.has_types = types, declared or {}, False
        self.is_whole, self.is_of_documents = True, False
        self.row: dict[str, Any] | None = None
        self._key = key

    def fit(self, found: Any, shape: Shape) -> dict[str, Any]:
        """Return a document of JsonConverter as `fit_document` does, its rows in canonical text."""
        if OPERATION in shape:
            found = self._of_change_stream(event_of(found))
        elif isinstance(found, dict):
            found = self._typed_row(found, shape.row) if shape.row else self._typed_message(found)
        return fit_document(found, shape)

    def _typed_row(self, found: dict[str, Any], name: str) -> dict[str, Any]:
        if not is_beside_schema(found, name):
            return self.typed(found)
        if type(found) is Repeating:  # which is refused
            return found
        self._learn(_fields_of(found["schema"]), is_added=lambda column: column.startswith("__"))
        row = found[name]
        return {"schema": None, name: self.typed(row)} if isinstance(row, dict) else found

    def _typed_message(self, found: dict[str, Any]) -> dict[str, Any]:
        """A message stands in `payload` beside its schema, or alone."""
        payload = found.get("payload")
        message = payload if isinstance(payload, dict) else found
        if Repeating in (type(found), type(message)):  # which is refused
            return found
        if is_of_mongodb(message):
            return self._of_documents(message)
        fields = _fields_of(found.get("schema")) or ()
        images = (each for each in fields if isinstance(each, dict) and each.get("field") in IMAGES)
        self._learn(_fields_of(next(images, None)))
        typed = self.typed_images(message)
        if typed is message:
            return found
        return typed if message is found else {"payload": typed}

    def _of_documents(self, message: dict[str, Any]) -> dict[str, Any]:
        typed, self.types = as_of_a_table(message, self._key)
        self.has_types = self.is_of_documents = True
        self.is_whole = typed["op"] != "u"
        return typed

    def _of_change_stream(self, event: Any) -> Any:
        if not isinstance(event, dict):  # which is refused
            return event
        typed, self.types, self.is_whole = as_rows(event)
        self.has_types = True
        return typed

    def typed_images(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return a message with its images in canonical text, itself if nothing changes."""
        images = {part: message[part] for part in IMAGES if isinstance(message.get(part), dict)}
        typed = {part: self._typed(image, part == "after") for part, image in images.items()}
        if all(typed[part] is image for part, image in images.items()):
            return message
        return {**message, **typed}

    def typed(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row in canonical text, itself if nothing changes."""
        self.row = self._typed(row, True)
        return self.row

    def _typed(self, row: dict[str, Any], counts: bool) -> dict[str, Any]:
        self.has_types = self.types is not None
        types = self.types or {}
        typed: dict[str, Any] = {}
        for name, value in row.items():
            kind = types.get(name, "")
            if value is not None and is_unavailable(value, kind, self.declared.get(name)):
                self.is_whole &= not counts
            else:
                typed[name] = canonical(value, kind) if kind else value
        is_same = len(typed) == len(row) and all(typed[name] is row[name] for name in row)
        return row if is_same else typed

    def _learn(
        self, fields: list[Any] | None, is_added: Callable[[str], bool] = lambda column: False
    ) -> None:
        """Take the types of columns out of the fields of a schema, but of those that are added."""
        if fields is None:
            return
        names = [each.get("field") if isinstance(each, dict) else None for each in fields]
        if len({name for name in names if isinstance(name, str)}) < len(names):
            raise Refused("wrong_type", "schema names a column twice, or not at all")
        self.has_types = True
        kept = [each for each in fields if not is_added(each["field"])]
        self.types = {each["field"]: type_of(each) for each in kept}
        told = {each["field"]: _parameters(each).get(UNAVAILABLE) for each in kept}
        self.declared = {name: text for name, text in told.items() if isinstance(text, str)}


def _fields_of(schema: Any) -> list[Any] | None:
    """Return the fields of a schema, None if there is none, or it has none."""
    if schema is None:
        return None
    if not isinstance(schema, dict):
        raise _misplaced(schema, "an object")
    fields = schema.get("fields")
    if fields is not None and not isinstance(fields, list):
        raise _misplaced(fields, "a list")
    return fields


def _misplaced(found: Any, expected: str) -> Refused:
    refused = misfit(expected, found)
    refused.path = ["schema"]
    return refused


def type_of(schema: dict[str, Any]) -> str:
    """Return the type of a column, as `canonical` wants it; Connect's type without a name."""
    name, kind = schema.get("name"), schema.get("type")
    if name == DECIMAL:
        told = _parameters(schema)
        return f"{name}({told.get('connect.decimal.precision', '')},{told.get('scale', '')})"
    if not name and kind == "array" and isinstance(schema.get("items"), dict):
        return f"array<{type_of(schema['items'])}>"
    return str(name or kind or "")


def _parameters(schema: dict[str, Any]) -> dict[str, Any]:
    told = schema.get("parameters")
    return told if isinstance(told, dict) else {}
