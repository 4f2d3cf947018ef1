"""Kafka Connect's data in Protobuf, as ProtobufData of Confluent's converter writes it.

Schemas and values are those of JsonConverter, as DebeziumJson and debezium_types have them. The
bytes are put together here; only descriptors are made with the library.
"""

import struct
from base64 import b64decode
from datetime import UTC, datetime, timedelta

from google.protobuf import timestamp_pb2, wrappers_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

CONNECT = "org.apache.kafka.connect.data"
# What stands for one value: the name of the message, and the file that has it.
LOGICAL = {
    f"{CONNECT}.Decimal": ("confluent.type.Decimal", "confluent/type/decimal.proto"),
    f"{CONNECT}.Date": ("google.type.Date", "google/type/date.proto"),
    f"{CONNECT}.Time": ("google.type.TimeOfDay", "google/type/timeofday.proto"),
    f"{CONNECT}.Timestamp": ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
}
FIELDS = {
    "Decimal": ("BYTES", "UINT32", "INT32"),
    "Date": ("INT32",) * 3,
    "Time": ("INT32",) * 4,
}
SCALARS = {
    **dict.fromkeys(("int8", "int16", "int32"), "int32"),
    **{name: name for name in ("int64", "float", "double", "string", "bytes")},
    "boolean": "bool",
}
WRAPPERS = {
    **{"int32": "Int32", "int64": "Int64", "float": "Float", "double": "Double"},
    **{"bool": "Bool", "string": "String", "bytes": "Bytes"},
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY_OF_1970 = 2440588


def varint(number):
    """A number in groups of seven bits, the lowest first; one below zero has 64 bits."""
    number &= (1 << 64) - 1
    groups = bytearray()
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def tag(number, wire):
    return varint(number << 3 | wire)


def delimited(number, data):
    return tag(number, 2) + varint(len(data)) + data


def message_class(file):
    """The library's class of the first message of a file."""
    pool = DescriptorPool()
    for module in (timestamp_pb2, wrappers_pb2):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    for name, kinds in FIELDS.items():
        full, place = LOGICAL[f"{CONNECT}.{name}"]
        package, _, message = full.rpartition(".")
        other = FileDescriptorProto(name=place, package=package, syntax="proto3")
        found = other.message_type.add(name=message)
        for number, kind in enumerate(kinds, 1):
            found.field.add(name=f"field_{number}", number=number, type=f"TYPE_{kind}")
        pool.AddSerializedFile(other.SerializeToString())
    pool.AddSerializedFile(file.SerializeToString())
    described = pool.FindFileByName(file.name)
    return GetMessageClass(described.message_types_by_name[file.message_type[0].name])


def header(schema_id, index=0):
    """A registry header, and the index of the first message in its file."""
    indexes = bytes([0]) if index == 0 else bytes([2]) + varint(index << 1)
    return b"\0" + schema_id.to_bytes(4, "big") + indexes


def text_map(entries):
    return b"".join(
        delimited(2, delimited(1, name.encode()) + delimited(2, value.encode()))
        for name, value in entries.items()
    )


class Converter:
    """`nullables` is what a field that may be null becomes: None, "optional" or "wrapper"."""

    def __init__(self, nullables=None):
        self.nullables = nullables

    # ------------------------------------------------------------------ the schema

    def file(self, schema):
        """The file of a struct as a registry gives it with `format=serialized`."""
        package, _, name = schema["name"].rpartition(".")
        file = FileDescriptorProto(name="default", package=package, syntax="proto3")
        imports = set()
        self._message(file.message_type.add(name=name), schema, imports)
        file.dependency.extend(sorted(imports))
        return file

    def _message(self, message, schema, imports):
        names = set()
        for number, field in enumerate(schema["fields"], 1):
            is_list = field["type"] == "array"
            each = field["items"] if is_list else field
            found = message.field.add(name=field["field"], number=number)
            found.label = FieldDescriptorProto.LABEL_OPTIONAL
            if is_list or each["type"] == "map":
                found.label = FieldDescriptorProto.LABEL_REPEATED
            elif self.nullables == "optional" and field.get("optional"):
                found.proto3_optional, found.oneof_index = True, len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field['field']}")
            self._type(message, found, each, names, imports)

    def _type(self, message, found, schema, names, imports):
        kind, params = schema["type"], {}
        if schema.get("name") in LOGICAL:
            found.type_name, place = LOGICAL[schema["name"]]
            imports.add(place)
            told = schema.get("parameters", {})
            named = {"connect.decimal.precision": "precision", "scale": "scale"}
            params = {name: told[each] for each, name in named.items() if each in told}
        elif kind in ("struct", "map"):
            name = schema.get("name", "ConnectDefault2").rpartition(".")[2]
            name = f"{name}Entry" if kind == "map" else name
            found.type_name = name = f"{name}Message" if name == found.name else name
            if name not in names:
                names.add(name)
                nested = message.nested_type.add(name=name)
                fields = schema.get("fields") or [
                    {**schema[part], "field": part.removesuffix("s")} for part in ("keys", "values")
                ]
                self._message(nested, {"fields": fields}, imports)
        elif self._wraps(schema):
            found.type_name = f"google.protobuf.{WRAPPERS[SCALARS[kind]]}Value"
            imports.add("google/protobuf/wrappers.proto")
        else:
            found.type = f"TYPE_{SCALARS[kind].upper()}"
        if kind in ("int8", "int16"):
            params = {"connect.type": kind}
        if params:
            found.options.MergeFromString(delimited(1088, text_map(params)))

    def _wraps(self, schema):
        return self.nullables == "wrapper" and bool(schema.get("optional"))

    # ------------------------------------------------------------------ the data

    def message(self, schema, values):
        """The bytes of a struct."""
        members = enumerate(schema["fields"], 1)
        return b"".join(self._member(n, each, values.get(each["field"])) for n, each in members)

    def _member(self, number, schema, value):
        if value is None:
            return b""
        kind = schema["type"]
        if kind == "array":
            return b"".join(self._item(number, schema["items"], each) for each in value)
        if kind == "map":
            ends = ("key", schema["keys"]), ("value", schema["values"])
            entry = {"fields": [{**each, "field": end} for end, each in ends]}
            pairs = ({"key": name, "value": each} for name, each in value.items())
            return b"".join(delimited(number, self.message(entry, pair)) for pair in pairs)
        is_scalar = schema.get("name") not in LOGICAL and kind != "struct"
        has_presence = self.nullables == "optional" and schema.get("optional")
        if is_scalar and not (has_presence or self._wraps(schema)) and is_default(kind, value):
            return b""
        return self._item(number, schema, value)

    def _item(self, number, schema, value):
        """A value with its number, also if it is empty."""
        name, kind = schema.get("name"), schema["type"]
        if name in LOGICAL:
            return delimited(number, LOGICAL_VALUES[name](schema, value))
        if kind == "struct":
            return delimited(number, self.message(schema, value))
        if self._wraps(schema):
            return delimited(number, b"" if is_default(kind, value) else scalar(1, kind, value))
        return scalar(number, kind, value)


def is_default(kind, value):
    """Whether a scalar is what one without presence is where nothing stands; -0.0 is not."""
    return value == "" if kind in ("string", "bytes") else str(value) in ("0", "0.0", "False")


def scalar(number, kind, value):
    kind = SCALARS[kind]
    if kind in ("string", "bytes"):
        return delimited(number, value.encode() if kind == "string" else b64decode(value))
    if kind == "float":
        return tag(number, 5) + struct.pack("<f", float(value))
    if kind == "double":
        return tag(number, 1) + struct.pack("<d", float(value))
    return tag(number, 0) + varint(int(value))


def numbers(*values):
    """A message of numbers, numbered from 1, without the zeros."""
    return b"".join(tag(n, 0) + varint(value) for n, value in enumerate(values, 1) if value)


def decimal(schema, value):
    data = b64decode(value)
    digits = len(str(abs(int.from_bytes(data, "big", signed=True))))
    scale = int(schema["parameters"]["scale"])
    tail = tag(3, 0) + varint(scale) if scale else b""
    return delimited(1, data) + tag(2, 0) + varint(digits) + tail


def date(schema, value):
    """The day of a calendar that is Julian until 4 October 1582, which 15 October follows."""
    number = int(value) + DAY_OF_1970
    if number >= 2299161:
        day = EPOCH + timedelta(days=int(value))
        return numbers(day.year, day.month, day.day)
    years, left = divmod(4 * (number + 32082) + 3, 1461)
    months, days = divmod(5 * (left // 4) + 2, 153)
    late = months // 10
    return numbers(years - 4800 + late, months + 3 - 12 * late, days // 5 + 1)


def time(schema, value):
    seconds, millis = divmod(int(value), 1000)
    return numbers(seconds // 3600, seconds // 60 % 60, seconds % 60, millis * 1_000_000)


def timestamp(schema, value):
    seconds, millis = divmod(int(value), 1000)
    return numbers(seconds, millis * 1_000_000)


LOGICAL_VALUES = dict(zip(LOGICAL, (decimal, date, time, timestamp), strict=True))
