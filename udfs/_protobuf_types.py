"""The types of columns of Protobuf, as Kafka Connect's ProtobufConverter keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.empty_pb2 import Empty
from google.protobuf.unknown_fields import UnknownFieldSet

from udfs._debezium_rows import DECIMAL
from udfs._protobuf_values import SPECIAL, STRUCTS, VARIABLE_DECIMAL, WRAPPERS

# The types of Kafka Connect by those of Protobuf.
_TYPES = {
    **dict.fromkeys(("TYPE_INT32", "TYPE_SINT32", "TYPE_SFIXED32"), "int32"),
    **dict.fromkeys(("TYPE_UINT32", "TYPE_FIXED32", "TYPE_UINT64", "TYPE_FIXED64"), "int64"),
    **dict.fromkeys(("TYPE_INT64", "TYPE_SINT64", "TYPE_SFIXED64"), "int64"),
    "TYPE_FLOAT": "float32",
    "TYPE_DOUBLE": "float64",
    "TYPE_BOOL": "boolean",
    "TYPE_BYTES": "bytes",
    **dict.fromkeys(("TYPE_STRING", "TYPE_ENUM"), "string"),
}
_TYPE_OF = {getattr(FieldDescriptor, name): kind for name, kind in _TYPES.items()}
# `confluent.field_meta` among the options of a field, and `params` of it.
_META, _PARAMS = 1088, 2


def type_of(field: Any) -> str:
    """Return the type of a column, as `canonical` wants it."""
    if is_map(field):
        return "map"
    kind = _type_of_one(field)
    return f"array<{kind}>" if field.is_repeated else kind


def _type_of_one(field: Any) -> str:
    message = field.message_type
    if message is None or message.full_name in WRAPPERS:
        kind = scalar_type(message.fields_by_name["value"] if message else field)
        return _params(field).get("connect.type", kind) if kind == "int32" else kind
    if message.full_name in SPECIAL:
        kind = SPECIAL[message.full_name][0]
        told = _params(field) if kind == DECIMAL else {}
        if kind == DECIMAL and "scale" not in told:  # each value has its own
            return VARIABLE_DECIMAL
        return f"{kind}({told.get('precision', '')},{told['scale']})" if told else kind
    # A message with the name of its field gets more of a name.
    semantic, members = STRUCTS.get(message.name.removesuffix("Message"), ("", set()))
    return semantic if semantic and members <= set(message.fields_by_name) else "struct"


def scalar_type(field: Any) -> str:
    """Return the type of Kafka Connect of a field that holds no message."""
    return _TYPE_OF[field.type]


def is_map(field: Any) -> bool:
    """Whether a field is a map, also as the converter writes it: a list of entries."""
    entry = field.message_type
    if entry is None or not field.is_repeated:
        return False
    names = [each.name for each in entry.fields if not each.is_repeated]
    is_entry = entry.name.endswith("Entry") and names == ["key", "value"] and len(entry.fields) == 2
    return is_entry or bool(entry.GetOptions().map_entry)


def _params(field: Any) -> dict[str, str]:
    """Return what the converter notes of a field beside it."""
    metas = _parts(field.GetOptions(), _META)
    entries = (each for meta in metas for each in _parts(Empty.FromString(meta), _PARAMS))
    pairs = (
        {each.field_number: each.data.decode() for each in UnknownFieldSet(Empty.FromString(entry))}
        for entry in entries
    )
    return {pair.get(1, ""): pair.get(2, "") for pair in pairs}


def _parts(message: Any, number: int) -> Iterator[bytes]:
    """Yield the bytes of a field that the library does not know."""
    return (each.data for each in UnknownFieldSet(message) if each.field_number == number)
