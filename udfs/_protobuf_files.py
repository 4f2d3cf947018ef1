"""Files of Protobuf with those that they import, of which registries leave some out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

_LIBRARY = frozenset(
    f"google/protobuf/{name}.proto"
    for name in (
        *("any", "api", "descriptor", "duration", "empty", "field_mask", "source_context"),
        *("struct", "timestamp", "type", "wrappers"),
    )
)
# Of what else the converter imports: the package, and of its message the fields, numbered from 1.
# Options of Confluent are read out of a field's own bytes, and need no message.
_INT32 = FieldDescriptorProto.TYPE_INT32
_FILES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "confluent/meta.proto": ("confluent", "Meta", {}),
    "confluent/type/decimal.proto": (
        "confluent.type",
        "Decimal",
        {
            "value": FieldDescriptorProto.TYPE_BYTES,
            "precision": FieldDescriptorProto.TYPE_UINT32,
            "scale": _INT32,
        },
    ),
    "google/type/date.proto": (
        "google.type",
        "Date",
        dict.fromkeys(("year", "month", "day"), _INT32),
    ),
    "google/type/timeofday.proto": (
        "google.type",
        "TimeOfDay",
        dict.fromkeys(("hours", "minutes", "seconds", "nanos"), _INT32),
    ),
}


def pool_of(files: Sequence[FileDescriptorProto]) -> DescriptorPool:
    """Return the pool of files, and of those that they import and that all registries know.

    Raises an error if a file is none, or imports one that is not there.
    """
    given = {each.name: each for each in files}
    pool = DescriptorPool()
    added: set[str] = set()

    def add(name: str) -> None:
        if name in added:
            return
        added.add(name)
        file = given[name] if name in given else _known(name)
        for each in file.dependency:
            add(each)
        _give_own_names(file.message_type)
        pool.AddSerializedFile(file.SerializeToString())

    for each in files:
        add(each.name)
    return pool


def _known(name: str) -> FileDescriptorProto:
    if name in _LIBRARY:
        module = import_module(f"{name.removesuffix('.proto').replace('/', '.')}_pb2")
        return FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
    if name not in _FILES:
        raise ValueError(f"it imports {name}, which was not found beside it")
    package, message, fields = _FILES[name]
    file = FileDescriptorProto(name=name, package=package, syntax="proto3")
    found = file.message_type.add(name=message)
    for number, (field, kind) in enumerate(fields.items(), 1):
        found.field.add(name=field, number=number, type=kind)
    return file


def _give_own_names(messages: Iterable[Any]) -> None:
    """Call fields in JSON as they are called: of foo_bar and fooBar the name there is the same."""
    for message in messages:
        for field in message.field:
            field.json_name = field.name
        _give_own_names(message.nested_type)
