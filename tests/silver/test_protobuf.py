"""Messages of Protobuf: what the types of Debezium's tables do not have, and what is refused."""

import importlib
import json
from base64 import b64encode

import pytest
from conftest import PROJECT
from connect_protobuf import delimited, header, numbers, tag, varint
from google.protobuf import text_format
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from cdc_lakehouse.runtime.functions import open_package

open_package(PROJECT)
connect_avro = importlib.import_module("udfs.connect_avro")
shapes = importlib.import_module("udfs._json_shapes")
ProtobufSchema = importlib.import_module("udfs._protobuf_schema").ProtobufSchema

MESSAGE = shapes.shape_of("after map<string, string>, op string, source struct<pos string>")
ORDERS = """
    name: "orders.proto" package: "dbz" syntax: "proto3"
    message_type {
      name: "Envelope"
      field { name: "after" number: 1 type_name: "Value" }
      field { name: "op" number: 2 type: TYPE_STRING }
      field { name: "source" number: 3 type_name: "Source" }
      nested_type { name: "Value" %s }
      nested_type { name: "Source" field { name: "pos" number: 1 type: TYPE_INT64 } }
    }
    message_type {
      name: "Heartbeat" field { name: "ts_ms" number: 1 type: TYPE_INT64 }
      nested_type { name: "First" }
      nested_type { name: "Second" field { name: "op" number: 1 type: TYPE_STRING } }
    }
"""
ID = 'field { name: "id" number: 1 type: TYPE_INT32 }'


def schema_of(fields=ID, others=(), imports=()):
    file = text_format.Parse(ORDERS % fields, FileDescriptorProto())
    file.dependency.extend(imports)
    parsed = [text_format.Parse(each, FileDescriptorProto()) for each in others]
    files = [b64encode(each.SerializeToString()).decode() for each in (*parsed, file)]
    return ProtobufSchema(json.dumps({"protobuf": files}))


def read(schema, value):
    return connect_avro.read(value, schema, MESSAGE, format="debezium_protobuf")


def row_of(fields, data, **more):
    """The row of a message whose image has this data, and its types."""
    value = header(7) + delimited(1, data) + delimited(2, b"c")
    text, code, detail, _, types, *_ = read(schema_of(fields, **more), value)
    assert (code, detail) == (None, None)
    return json.loads(text)["after"], types


ROW = delimited(1, numbers(5)) + delimited(2, b"c")


@pytest.mark.parametrize(
    ("index", "data", "said"),
    [
        (b"\0", ROW, {"after": {"id": 5}, "op": "c"}),
        (b"\2\0", ROW, {"after": {"id": 5}, "op": "c"}),
        (b"\4\2\2", delimited(1, b"c"), {"op": "c"}),  # [1, 1]: Heartbeat.Second
        (b"\n\n\x08Envelope", ROW, {"after": {"id": 5}, "op": "c"}),
    ],
)
def test_a_header_says_which_message_of_the_file_it_is(index, data, said):
    for before in (b"\0\0\0\0\7", b"\0\0\0\0\0\0\0\0\7"):
        text, code, detail, *_ = read(schema_of(), before + index + data)
        assert (json.loads(text or "null"), code, detail) == (said, None, None)


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        (b'{"op":"c"}', "no registry header: the value begins with 7b 22 6f 70 22"),
        (b"\0\0\0\0\7", "the indexes of the message end early"),
        (b"\0\0\0\0\7\2", "the indexes of the message end early"),
        (b"\0\0\0\0\7" + b"\xff" * 9, "the indexes of the message end early"),
        (b"\0\0\0\0\7\2\4" + ROW, "no index and no name of a message of it: 02 04 0a 02 08"),
        (b"\0\0\0\0\7\1" + ROW, "no index and no name of a message of it: 01 0a 02 08 05"),
        (b"\0\0\0\0\7\6\2\2\0" + ROW, "no index and no name of a message of it: 06 02 02 00 0a"),
        (b"\0\0\0\0\7\n\n\x08Envelops" + ROW, "no index and no name of a message of it: 0a 0a 08"),
        (header(7) + ROW[:-1], "the bytes are no message Envelope of schema 7, or end early"),
        (header(7) + ROW + b"\0", "the bytes are no message Envelope of schema 7, or end early"),
        (header(7) + delimited(2, b"\xff"), "the bytes are no message Envelope of schema 7, or"),
        (header(7) + ROW + numbers(*[0] * 8, 1), "field 9 of Envelope is not in its schema"),
        (header(7) + delimited(1, numbers(5, 6)), "field 2 of Value is not in its schema"),
        (header(7) + tag(2, 0) + varint(1), "field 2 of Envelope is not in its schema"),
    ],
)
def test_what_is_no_message_of_its_schema_is_refused(value, detail):
    text, code, found, *_ = read(schema_of(), value)
    assert (text, code) == (None, "not_protobuf")
    assert detail in found


def test_a_message_cut_between_two_fields_is_what_is_left_of_it():
    """Nothing in the bytes tells; an envelope lacks its operation then."""
    text, code, *_ = read(schema_of(), header(7) + delimited(1, numbers(5)))
    assert (json.loads(text), code) == ({"after": {"id": 5}}, None)


def test_what_is_not_in_the_bytes_has_its_default_in_rows_alone():
    fields = ID + 'field { name: "note" number: 2 type: TYPE_STRING }'
    value = header(7) + delimited(1, b"") + delimited(2, b"c") + delimited(3, b"")
    text, *_ = read(schema_of(fields), value)
    assert json.loads(text) == {"after": {"id": 0, "note": ""}, "op": "c", "source": {}}
    key = connect_avro.read(None, None, MESSAGE, "", header(7, 1), schema_of(fields))[6]
    assert key == {"ts_ms": "0"}


def test_a_schema_that_is_not_there_is_said_with_what_to_do():
    value = header(7) + ROW
    _, code, detail, *_ = read(None, value)
    assert code == "unknown_schema" and detail.startswith(
        "schema 7 is not in the registry or folder"
    )
    assert detail.endswith("as Apicurio does not: name a folder with <id>.desc")
    files = b64encode(FileDescriptorProto(name="a", dependency=["b.proto"]).SerializeToString())
    for text, reason in (
        (json.dumps({"protobuf": [files.decode()]}), "it imports b.proto, which was not found"),
        ('{"protobuf": ["c3ludGF4"]}', "its schema cannot be read: DecodeError"),
        ('{"protobuf": []}', "its schema cannot be read: IndexError"),
    ):
        _, code, detail, *_ = read(connect_avro._schema_of(text), value)
        assert code == "unknown_schema" and reason in detail


def test_files_that_come_with_a_schema_are_its_own():
    date = """
        name: "google/type/date.proto" package: "google.type" syntax: "proto3"
        message_type {
          name: "Date"
          field { name: "year" number: 2 type: TYPE_INT32 }
          field { name: "month" number: 3 type: TYPE_INT32 }
          field { name: "day" number: 4 type: TYPE_INT32 }
        }"""
    field = 'field { name: "d" number: 1 type_name: "google.type.Date" }'
    imports = ["google/type/date.proto"]
    for others, data in (([date], numbers(0, 2018, 6, 20)), ([], numbers(2018, 6, 20))):
        row, types = row_of(field, delimited(1, data), others=others, imports=imports)
        assert (row, types) == ({"d": "2018-06-20"}, {"d": "org.apache.kafka.connect.data.Date"})


# The last day of the Julian calendar is 4 October 1582, the day before 15 October.
@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ((1582, 10, 15), "1582-10-15"),
        ((1582, 10, 4), "1582-10-14"),
        ((1000, 2, 29), "1000-03-06"),
        ((1, 1, 3), "0001-01-01"),
        ((9999, 12, 31), "9999-12-31"),
        ((10000, 1, 1), "10000-01-01"),
        ((2024, 2, 29), "2024-02-29"),
        ((2023, 2, 29), "2023-02-29"),  # none, so that it stays as sent
        ((2024, 0, 0), "2024-00-00"),
    ],
)
def test_a_date_is_that_of_java_s_calendar(parts, text):
    field = 'field { name: "d" number: 1 type_name: "google.type.Date" }'
    row, _ = row_of(field, delimited(1, numbers(*parts)), imports=["google/type/date.proto"])
    assert row == {"d": text}


FIELD = 'field { name: "v" number: 1 %s }'
TIMES = ("google/type/timeofday.proto", "google/protobuf/timestamp.proto")
CONNECT = "org.apache.kafka.connect.data"


@pytest.mark.parametrize(
    ("kind", "data", "text", "column_type"),
    [
        ("TYPE_UINT64", varint(2**64 - 1), 2**64 - 1, "int64"),
        ("TYPE_SINT32", varint(3), -2, "int32"),
        ("TYPE_BOOL", varint(1), "1", "boolean"),
        (".google.type.TimeOfDay", numbers(13, 37, 3, 1), "13:37:03.000000001", f"{CONNECT}.Time"),
        (".google.type.TimeOfDay", numbers(13, 99), "13:99:00", f"{CONNECT}.Time"),
        (".google.type.TimeOfDay", b"", "00:00:00", f"{CONNECT}.Time"),
        (
            ".google.protobuf.Timestamp",
            numbers(-1, 1_500_000),
            "1969-12-31 23:59:59.0015",
            f"{CONNECT}.Timestamp",
        ),
    ],
)
def test_values_of_other_writers_lose_nothing(kind, data, text, column_type):
    told = f'type_name: "{kind}"' if kind.startswith(".") else f"type: {kind}"
    written = delimited(1, data) if kind.startswith(".") else tag(1, 0) + data
    row, types = row_of(FIELD % told, written, imports=TIMES)
    assert (row, types) == ({"v": text}, {"v": column_type})


def test_decimals_have_a_scale_of_their_own():
    field, imports = (
        FIELD % 'type_name: ".confluent.type.Decimal"',
        ["confluent/type/decimal.proto"],
    )
    # Without the options that say digits, as Karapace gives schemas.
    row, types = row_of(
        field, delimited(1, delimited(1, b"\x04\xd2") + tag(3, 0) + varint(1)), imports=imports
    )
    assert (row, types) == ({"v": "123.4"}, {"v": "io.debezium.data.VariableScaleDecimal"})
    for data in (b"", delimited(1, b"\1") + tag(3, 0) + varint(99999)):
        value = header(7) + delimited(1, delimited(1, data))
        assert read(schema_of(field, imports=imports), value)[1] == "not_protobuf"


def test_enums_are_their_labels():
    field = (
        FIELD % 'type_name: "Size"' + 'enum_type { name: "Size" value { name: "SMALL" number: 0 } }'
    )
    assert row_of(field, b"") == ({"v": "SMALL"}, {"v": "string"})
    value = header(7) + delimited(1, numbers(3))
    assert read(schema_of(field), value)[1:3] == (
        "not_protobuf",
        "3 is no number of the enum Size",
    )


def test_a_choice_is_a_column_for_each_of_its_fields():
    fields = "".join(
        f'field {{ name: "{name}" number: {number} type: TYPE_INT32 oneof_index: 0 }}'
        for number, name in enumerate("ab", 1)
    )
    row, _ = row_of(fields + 'oneof_decl { name: "one" }', numbers(0, 7))
    assert row == {"a": None, "b": 7}


@pytest.mark.parametrize("option", ["", "options { map_entry: true }"])
def test_maps_are_objects_also_as_lists_of_entries(option):
    entry = """
        nested_type { name: "TagsEntry" %s
          field { name: "key" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
          field { name: "value" number: 2 type: TYPE_INT32 label: LABEL_OPTIONAL } }"""
    field = 'field { name: "tags" number: 1 type_name: "TagsEntry" label: LABEL_REPEATED }'
    pairs = delimited(1, delimited(1, b"a") + tag(2, 0) + varint(7)) + delimited(
        1, delimited(1, b"b")
    )
    row, types = row_of(field + entry % option, pairs)
    assert (json.loads(row["tags"]), types) == ({"a": 7, "b": 0}, {"tags": "map"})


def test_a_message_may_hold_others_of_its_own_type():
    fields = ID + 'field { name: "child" number: 2 type_name: "Value" }'
    row, types = row_of(fields, delimited(2, delimited(2, b"")))
    assert json.loads(row["child"]) == {"id": 0, "child": {"id": 0, "child": None}}
    assert types == {"id": "int32", "child": "struct"}


def test_names_of_columns_may_be_those_of_the_library():
    names = ("ListFields", "DESCRIPTOR", "foo_bar", "fooBar", "from")
    fields = "".join(
        f'field {{ name: "{name}" number: {number} type: TYPE_INT32 }}'
        for number, name in enumerate(names, 1)
    )
    row, _ = row_of(fields, numbers(1, 2, 3, 4, 5))
    assert row == {name: number for number, name in enumerate(names, 1)}
