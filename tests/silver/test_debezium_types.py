"""Every type of Debezium's tables of types has its text: in values and keys, in JSON and Avro.

In Protobuf it has the text of the type that the converter keeps.
"""

import importlib
import json
from base64 import b64decode, b64encode

import debezium_types as types
import pytest
from conftest import PROJECT
from connect_protobuf import LOGICAL, Converter, header

from cdc_lakehouse.gold.column_types import spark_type
from cdc_lakehouse.runtime.functions import open_package

open_package(PROJECT)
connect_json = importlib.import_module("udfs.connect_json")
connect_avro = importlib.import_module("udfs.connect_avro")
shapes = importlib.import_module("udfs._json_shapes")
Schema = importlib.import_module("udfs._connect_schema").Schema
ProtobufSchema = importlib.import_module("udfs._protobuf_schema").ProtobufSchema

IMAGES = "before map<string, string>, after map<string, string>, op string"
OF_JSON = shapes.shape_of(f"payload struct<{IMAGES}>, {IMAGES}")
OF_ROW = shapes.shape_of('payload map<string, string> comment "or the document"')
OF_AVRO = shapes.shape_of(IMAGES)
OF_DATABASES = pytest.mark.parametrize("database", types.DATABASES)


def read_json(value, shape, key=None):
    """Return the payload that `from_json` reads, the types and the key of a message."""
    text, code, detail, _, found_types, _, found_key = connect_json.read(value, shape, "", key)
    assert (code, detail) == (None, None)
    return json.loads(text or value)["payload"], found_types, found_key


@OF_DATABASES
def test_json_has_the_text_in_images_in_rows_and_in_keys(database):
    for sent in types.DATABASES[database]:
        for value in (sent.value, sent.number):
            row = types.json_message(sent.schema, value)
            image = types.json_message(sent.schema, value, "after")
            found, _, key = read_json(image, OF_JSON, row)
            # `from_json` writes a number that is left as it stands there.
            assert str(found["after"]["v"]) == sent.text, sent
            assert key == {"v": sent.text}, sent
            assert str(read_json(row, OF_ROW)[0]["v"]) == sent.text, sent


@OF_DATABASES
def test_a_key_without_a_schema_has_the_types_of_its_value(database):
    for sent in types.DATABASES[database]:
        value, key = types.json_message(sent.schema, sent.value, "before"), {"v": sent.value}
        assert read_json(value, OF_JSON, types.to_json(key))[2] == {"v": sent.text}, sent


@OF_DATABASES
def test_avro_has_the_text_in_images_and_in_keys(database):
    for sent in types.DATABASES[database]:
        row, key_schema = types.avro_row(sent.schema), types.avro_row(sent.schema, "Key")
        fields = [{"name": "after", "type": ["null", row]}, {"name": "op", "type": "string"}]
        envelope = {"type": "record", "name": "Envelope", "fields": fields}
        datum = {"v": types.avro_value(sent.schema, sent.value)}
        value = types.avro_datum(envelope, {"after": datum, "op": "c"}, 41)
        key = types.avro_datum(key_schema, datum, 42)
        of_value, of_key = (Schema(json.dumps(each)) for each in (envelope, key_schema))
        read = connect_avro.read(value, of_value, OF_AVRO, "", key, of_key)
        assert read[1:3] == (None, None), sent
        assert str(json.loads(read[0])["after"]["v"]) == sent.text, sent
        assert read[6] == {"v": sent.text}, sent
        # A null value, a tombstone or a delete, leaves the key with its own schema.
        assert connect_avro.read(None, None, OF_AVRO, "", key, of_key)[6] == {"v": sent.text}
        json_key = types.to_json({"v": sent.value})
        assert connect_avro.read(value, of_value, OF_AVRO, "", json_key)[6] == {"v": sent.text}


@OF_DATABASES
def test_the_proposed_type_is_the_same_for_json_and_avro(database):
    for sent in types.DATABASES[database]:
        _, found, _ = read_json(types.json_message(sent.schema, sent.value, "after"), OF_JSON)
        of_avro = Schema(json.dumps(types.avro_row(sent.schema))).types
        in_json = spark_type("debezium_json", found["v"], database)
        assert spark_type("debezium_avro", of_avro["v"], database) == in_json, sent
        if sent.schema["type"] in ("float", "double"):
            assert in_json == sent.schema["type"]


def protobuf_schema(converter, schema):
    described = b64encode(converter.file(schema).SerializeToString()).decode()
    return ProtobufSchema(json.dumps({"protobuf": [described]}))


def kept_in_protobuf(sent):
    """The text of a value, and of a type that is lost what its base has, and whether it is kept."""
    name = sent.schema.get("name", "")
    if not name or name in LOGICAL or sent.schema["type"] == "struct":
        return sent.text, True
    is_bytes = sent.schema["type"] == "bytes"
    return b64decode(sent.value).hex() if is_bytes else str(sent.value), False


@OF_DATABASES
@pytest.mark.parametrize("nullables", [None, "optional", "wrapper"])
def test_protobuf_has_the_text_of_the_type_that_it_keeps(database, nullables):
    converter = Converter(nullables)
    for sent in types.DATABASES[database]:
        column = {**sent.schema, "optional": True, "field": "v"}
        key = {"type": "struct", "name": "dbz.t.Key", "fields": [column]}
        fields = [
            {**key, "name": "dbz.t.Value", "field": "after"},
            {"type": "string", "field": "op"},
        ]
        envelope = {"type": "struct", "name": "dbz.t.Envelope", "fields": fields}
        of_value, of_key = (protobuf_schema(converter, each) for each in (envelope, key))
        row, (text, is_kept) = {"v": sent.value}, kept_in_protobuf(sent)
        value = header(41) + converter.message(envelope, {"after": row, "op": "c"})
        written_key = header(42) + converter.message(key, row)
        read = connect_avro.read(value, of_value, OF_AVRO, "", written_key, of_key)
        assert read[1:3] == (None, None), sent
        assert str(json.loads(read[0])["after"]["v"]) == text, sent
        assert read[6] == {"v": text}, sent
        of_json = read_json(types.json_message(sent.schema, sent.value, "after"), OF_JSON)[1]["v"]
        in_json = spark_type("debezium_json", of_json, database)
        assert not is_kept or spark_type("debezium_protobuf", read[4]["v"], database) == in_json


def test_an_id_may_have_eight_bytes():
    schema = {"type": "record", "name": "V", "fields": [{"name": "op", "type": "string"}]}
    datum = types.avro_datum(schema, {"op": "c"}, 7)[5:]
    for before in (b"\0\0\0\0\7", b"\0\0\0\0\0\0\0\0\7"):
        value = before + datum
        found = connect_avro.read(value, Schema(json.dumps(schema)), OF_AVRO)
        assert json.loads(found[0]) == {"op": "c"}
    assert connect_avro.read(value, None, OF_AVRO)[1:3] == (
        "unknown_schema",
        "schema 7, an id of eight bytes as Apicurio writes them, is not in the registry or folder"
        " that avro_schema of seeds/topics.csv names",
    )


@pytest.mark.parametrize(
    "fields",
    [[{"type": "int32"}], [{"field": None}], [{"field": "a"}, {"field": "a"}], ["a"]],
)
def test_a_schema_that_does_not_name_each_column_once_is_refused(fields):
    for inner in (fields, [{"field": "after", "type": "struct", "fields": fields}]):
        shape = OF_ROW if inner is fields else OF_JSON
        row = {"a": 1} if inner is fields else {"after": {"a": 1}}
        value = types.to_json({"schema": {"fields": inner}, "payload": row})
        found = connect_json.read(value, shape)
        assert found[1:3] == ("wrong_type", "schema names a column twice, or not at all")


def test_a_key_that_is_no_row_is_none():
    deep = b'{"a":' + b"[" * 990 + b"]" * 990 + b"}"
    none = (None, b"", b"1", b"[1]", b'"a"', b"\xff", b'{"schema":null,"payload":null}')
    for key in (*none, deep, b'{"a":1,"a":2}'):
        assert connect_json.read(b'{"op":"c"}', OF_JSON, "", key)[6] is None


def test_a_field_that_comes_twice_is_refused_beside_a_schema_too():
    row = '{"type":"int32","field":"a"}'
    image = f'{{"field":"after","fields":[{row}]}}'
    twice = [
        (
            OF_JSON,
            f'{{"schema":{{"fields":[{image}]}},"payload":{{"op":"c","op":"c","after":{{}}}}}}',
        ),
        (OF_JSON, '{"schema":null,"schema":null,"payload":{"after":{"a":1.5}}}'),
        (OF_ROW, f'{{"schema":{{"fields":[{row}]}},"payload":{{"a":1}},"payload":{{"a":1}}}}'),
    ]
    for shape, text in twice:
        assert connect_json.read(text.encode(), shape)[1] == "duplicate_keys", text


def test_a_row_without_a_schema_has_the_types_of_its_key():
    """So that a null value, of which the key is all there is, finds it."""
    date = {"type": "int32", "name": "io.debezium.time.Date"}
    key = types.json_message(date, 17702)
    for shape, value in ((OF_ROW, b'{"v":17702,"n":1}'), (OF_JSON, b'{"after":{"v":17702,"n":1}}')):
        text, *_, found, _, row = connect_json.read(value, shape, "", key)
        document = json.loads(text)
        image = document["payload"] if shape is OF_ROW else document["after"]
        assert image == {"v": "2018-06-20", "n": 1}
        assert (found, row) == ({"v": "io.debezium.time.Date"}, {"v": "2018-06-20"})
    assert connect_json.read(None, OF_ROW, "", key)[4:] == (None, True, {"v": "2018-06-20"})
    assert connect_json.read(b'{"ts_ms":1}', OF_JSON, "", key)[4] is None
