"""A schema of Kafka Connect's ProtobufConverter: it gives data as JSON, and the types of columns.

The converter (`ProtobufData` of Confluent) keeps little of a schema of Connect: names, int8 and
int16, the digits of decimals, the dates and times of Connect itself, and, if it is told to, that a
value may be null. Of the semantic types of Debezium only those of structs are left, by their names,
so that a column has the type beneath.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet

from udfs._connect_schema import SCALARS
from udfs._debezium_rows import IMAGES
from udfs._debezium_values import text_of
from udfs._json_values import Refused
from udfs._protobuf_files import pool_of
from udfs._protobuf_types import is_map, scalar_type, type_of
from udfs._protobuf_values import SPECIAL, WRAPPERS

# Writes a value that the library has read as a reader of JSON reads it; None if it will do.
Writer = Callable[[Any], Any]
_SCALARS = {"float32": SCALARS["float"], "float64": SCALARS["double"], "bytes": SCALARS["bytes"]}


class Kind:
    """A type of message of a schema, as that of a row or of another message.

    Attributes:
        name: its name.
        types: {column: type} of its rows: `before` and `after`, or the message itself.
        declared: always empty: no schema says how a value that was not sent is marked.
        parse: reads its bytes.
        document: returns what the bytes say as what a reader of JSON reads.
    """

    def __init__(self, descriptor: Any, document: Writer) -> None:
        """Take the descriptor of the message and what writes it."""
        self.name: str = descriptor.name
        self.parse = GetMessageClass(descriptor).FromString
        self.document = document
        images = (each.message_type for each in descriptor.fields if each.name in IMAGES)
        row = next(filter(None, images), descriptor)
        self.types = {each.name: type_of(each) for each in row.fields}
        self.declared: dict[str, str] = {}


class ProtobufSchema:
    """The messages of a file of Protobuf."""

    def __init__(self, text: str) -> None:
        """Read the files of a schema, the last of which is its own: {"protobuf": [Base64, ...]}.

        Raises an error if they are none, or refer to a file that is not there.
        """
        self._text = text
        found = [b64decode(each) for each in json.loads(text)["protobuf"]]
        files = [FileDescriptorProto.FromString(each) for each in found]
        self._file = pool_of(files).FindFileByName(files[-1].name)
        self._kinds: dict[tuple[str, bool], Kind] = {}
        self._writers: dict[tuple[str, bool], Writer] = {}

    def __reduce__(self) -> tuple[type[ProtobufSchema], tuple[str]]:
        """Send the text to workers: what the library has made of it cannot be sent."""
        return ProtobufSchema, (self._text,)

    def read(self, value: bytes, start: int, is_row: bool) -> tuple[dict[str, Any], Kind]:
        """Return what the bytes of a value from `start` on say, and the type of message it is.

        `is_row` tells a key, which is a row, from a message that has rows or none.

        Raises Refused if they are not one message of the schema, which knows all its fields.
        """
        found, at = self._message_of(value, start)
        key = found.full_name, is_row
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = Kind(found, self._writer_of_message(found, is_row))
        try:
            message = kind.parse(value[at:])
        except DecodeError:
            number = int.from_bytes(value[1:start], "big")
            detail = f"the bytes are no message {kind.name} of schema {number}, or end early"
            raise Refused("not_protobuf", detail) from None
        return kind.document(message), kind

    def _message_of(self, value: bytes, start: int) -> tuple[Any, int]:
        """Return the descriptor of the message that a value says it is, and where its bytes begin.

        Confluent writes a list of indexes: of a message in the file, of one in that, and so on, for
        which a zero is short for the first one. Apicurio writes a message that has the name.
        """
        types = list(self._file.message_types_by_name.values())
        count, at = _number(value, start)
        found = types[0] if count == 0 and types else None
        for _ in range(count):
            index, at = _number(value, at)
            found = types[index] if 0 <= index < len(types) else None
            if found is None:
                break
            types = found.nested_types
        if found is None:
            at = start + 1 + value[start]
            name = value[start + 3 : at]
            if value[start + 1 : start + 3] == bytes((10, len(name) % 256)):
                found = self._file.message_types_by_name.get(name.decode(errors="replace"))
        if found is None:
            detail = "behind the id of the schema stands no index and no name of a message of it"
            raise Refused("not_protobuf", f"{detail}: {value[start : start + 5].hex(' ')}")
        return found, at

    def _writer_of_message(self, descriptor: Any, is_row: bool) -> Writer:
        """Return the function that writes a message, which may hold others of its own type.

        A field without presence that is not in the bytes has its default in a row, as it has for
        the converter, which cannot tell null from it. Elsewhere it is left out: of what Debezium
        says besides rows nothing is an empty text or a zero that is not as well left out.
        """
        key = descriptor.full_name, is_row
        if key in self._writers:
            return self._writers[key]
        whole: list[Writer] = []
        self._writers[key] = lambda message: whole[0](message)
        writers = {each.name: self._writer_of(each, is_row) for each in descriptor.fields}
        members = descriptor.fields if is_row else ()
        unset = {each.name: _unset(each, writers[each.name]) for each in members}
        # The class's own: a column may be called ListFields.
        fields_of = GetMessageClass(descriptor).ListFields

        def write_message(message: Any) -> dict[str, Any]:
            _refuse_unknown_fields(message)
            document = dict(unset)
            for field, value in fields_of(message):
                write = writers[field.name]
                document[field.name] = write(value) if write else value
            return document

        whole.append(write_message)
        self._writers[key] = write_message
        return write_message

    def _writer_of(self, field: Any, is_row: bool) -> Writer | None:
        """Return the function that writes the value of a field, None if the value will do."""
        is_row |= field.name in IMAGES
        if is_map(field):
            of_value = self._writer_of(field.message_type.fields_by_name["value"], is_row)
            if field.message_type.GetOptions().map_entry:
                return lambda members: _members(members.items(), of_value)
            one = self._writer_of_message(field.message_type, True)
            return lambda entries: {
                text_of(each["key"]): each["value"] for each in map(one, entries)
            }
        of_one = self._writer_of_one(field, is_row)
        if not field.is_repeated:
            return of_one
        return lambda values: [of_one(each) if of_one else each for each in values]

    def _writer_of_one(self, field: Any, is_row: bool) -> Writer | None:
        message = field.message_type
        if message is None:
            return _labels(field.enum_type) if field.enum_type else _SCALARS.get(scalar_type(field))
        if message.full_name in SPECIAL:
            return _whole(SPECIAL[message.full_name][1])
        if message.full_name in WRAPPERS:
            of_value = self._writer_of_one(message.fields_by_name["value"], is_row)
            return _whole(lambda each: of_value(each.value) if of_value else each.value)
        return self._writer_of_message(message, is_row)


def _number(value: bytes, at: int) -> tuple[int, int]:
    """Return a number of Kafka's `readVarint`, signed by zigzag, and where the next byte is."""
    number = shift = 0
    for index in range(at, min(at + 5, len(value))):
        number |= (value[index] & 127) << shift
        shift += 7
        if value[index] < 128:
            return (number >> 1) ^ -(number & 1), index + 1
    raise Refused("not_protobuf", "the indexes of the message end early")


def _members(items: Any, write: Writer | None) -> dict[str | None, Any]:
    return {text_of(name): write(value) if write else value for name, value in items}


def _whole(write: Writer) -> Writer:
    """Return a function that writes a message of which all fields are known."""

    def write_whole(message: Any) -> Any:
        _refuse_unknown_fields(message)
        return write(message)

    return write_whole


def _refuse_unknown_fields(message: Any) -> None:
    for each in UnknownFieldSet(message):
        name = type(message).DESCRIPTOR.name
        raise Refused("not_protobuf", f"field {each.field_number} of {name} is not in its schema")


def _labels(enum: Any) -> Writer:
    labels: dict[int, str] = {each.number: each.name for each in enum.values}

    def write_label(number: int) -> str:
        if number not in labels:
            raise Refused("not_protobuf", f"{number} is no number of the enum {enum.name}")
        return labels[number]

    return write_label


def _unset(field: Any, write: Writer | None) -> Any:
    """Return what a row has for a field that is not in its bytes."""
    if field.is_repeated:
        return {} if is_map(field) else []
    if field.has_presence:
        return None
    return write(field.default_value) if write else field.default_value
