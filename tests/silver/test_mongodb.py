"""Documents of MongoDB as rows: what the unit tests of the two formats do not have."""

import importlib
import json

import pytest
from conftest import PROJECT
from hypothesis import given
from hypothesis import strategies as st

from cdc_lakehouse.runtime.functions import open_package

open_package(PROJECT)
connect_json = importlib.import_module("udfs.connect_json")
shape_of = importlib.import_module("udfs._json_shapes").shape_of
IMAGES = "before map<string, string>, after map<string, string>"
SHAPE = shape_of(f"{IMAGES}, op string, source struct<table string>")
EVENT = shape_of(f"{IMAGES}, operationType string, ns struct<coll string>, wallTime string")


def read(op, key=b'{"id":"1"}', **members):
    message = {"source": {"connector": "mongodb", "collection": "things"}, "op": op, **members}
    text, code, detail, _, types, is_whole, row = connect_json.read(
        json.dumps(message).encode(), SHAPE, "", key
    )
    return text and json.loads(text), code, detail, types, is_whole, row


@pytest.mark.parametrize(
    ("key", "row"),
    [
        # The same id in a key, whose mode never changes, and in a document of each mode.
        (b'{"id":"{\\"a\\": 5,\\"b\\": 1.5}"}', {"_id": '{"a":5,"b":1.5}'}),
        (b'{"schema":{"type":"struct","fields":[]},"payload":{"id":"5"}}', {"_id": "5"}),
        (
            b'{"id":"{\\"$binary\\": {\\"base64\\": \\"AP8=\\",\\"subType\\": \\"00\\"}}"}',
            {"_id": "00ff"},
        ),
        (None, None),
        (b"5", None),
    ],
)
def test_a_row_has_the_id_of_the_key_of_its_message(key, row):
    document = '{"_id": {"a": {"$numberLong": "5"},"b": 1.5}}'
    for op, members in (("c", {"after": document}), ("d", {}), ("d", {"before": document})):
        found, code, _, _, _, of_key = read(op, key, **members)
        assert code is None and of_key == row
        for image in filter(None, (found["before"], found["after"])):
            assert image["_id"] == (row or {"_id": '{"a":{"$numberLong":"5"},"b":1.5}'})["_id"]


def test_a_document_keeps_every_digit_however_it_has_to_be_read():
    digits = "9" * 5000  # more than are read quickly
    found, *_, types, is_whole, _ = read("r", after=f'{{"n": {digits},"f": 0.10,"z": -0.0}}')
    assert found["after"] == {
        "_id": "1",
        "n": digits,
        "f": "0.10",
        "z": "-0.0",
        "document": f'{{"n":{digits},"f":0.10,"z":-0.0}}',
    }
    assert (types["n"], types["f"], is_whole) == ("int64", "double", True)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('{"$numberLong": null}', '{"$numberLong":null}'),
        ('{"$binary": {"base64": null}}', 'not bytes: {"$binary":{"base64":null}}'),
        ('{"$date": {"$numberLong": null}}', 'not date: {"$date":{"$numberLong":null}}'),
        ('{"$date": {}}', 'not date: {"$date":{}}'),
        ("-0", "0"),
    ],
)
def test_what_is_no_value_of_its_type_is_named(value, text):
    found, *_ = read("c", after=f'{{"v": {value}}}')
    assert found["after"]["v"] == text


def test_a_field_whose_name_has_a_dot_is_known_where_its_path_is_told():
    changes = {"removedFields": ["a.b"], "disambiguatedPaths": {"a.b": ["a.b"]}}
    event = {"operationType": "update", "updateDescription": changes, "documentKey": {"_id": 7}}
    text, code, *_ = connect_json.read(json.dumps(event).encode(), EVENT)
    assert (json.loads(text)["after"], code) == ({"document": None, "a.b": None, "_id": "7"}, None)
    del changes["disambiguatedPaths"]
    assert connect_json.read(json.dumps(event).encode(), EVENT)[:2] == (None, "missing_image")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda values: (
        st.lists(values, max_size=3)
        | st.dictionaries(
            st.sampled_from(("a", "a.b", "$date", "$oid", "$binary", "$numberDecimal", "field")),
            values,
            max_size=3,
        )
    ),
    max_leaves=8,
)
MEMBERS = st.one_of(VALUES, VALUES.map(json.dumps))


@given(
    st.sampled_from("crudx"),
    MEMBERS,
    MEMBERS,
    st.dictionaries(st.sampled_from(("updatedFields", "removedFields", "truncatedArrays")), MEMBERS)
    | MEMBERS,
    MEMBERS,
)
def test_no_message_raises(op, before, after, changes, key):
    members = {"before": before, "after": after, "updateDescription": changes}
    found, code, *_ = read(op, json.dumps({"id": key}).encode(), **members)
    assert (found is None) == (code is not None)


@given(
    st.sampled_from(("insert", "update", "delete", "drop", "x")),
    st.dictionaries(
        st.sampled_from(
            (
                *("_id", "documentKey", "fullDocument", "fullDocumentBeforeChange", "ns"),
                *("lsid", "txnNumber", "updateDescription", "wallTime"),
            )
        ),
        MEMBERS,
    ),
    st.sampled_from((str, json.dumps, lambda text: json.dumps({"schema": {}, "payload": text}))),
)
def test_no_event_raises(operation, members, wrapped):
    event = json.dumps({"operationType": operation, **members})
    found, code, *_ = connect_json.read(wrapped(event).encode(), EVENT, "", event.encode())
    assert (found is None) == (code is not None)
