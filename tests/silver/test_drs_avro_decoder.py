"""What DRS Avro bytes must become: the schema is the user's, its shape is told by its fields."""

import importlib
import json
from io import BytesIO
from pathlib import Path

import pytest
from fastavro import parse_schema, schemaless_writer
from hypothesis import given, settings
from hypothesis import strategies as st

from cdc_lakehouse.runtime.functions import open_package

PROJECT = Path(__file__).parents[2]
open_package(PROJECT)
_avro = importlib.import_module("udfs._avro")
drs_avro = importlib.import_module("udfs.drs_avro")

# As a user's schema might be: other names, another namespace, only the fields that matter.
KEYED = {"name": "Col", "type": "record"}
KEYED["fields"] = [{"name": "name", "type": "string"}, {"name": "dataTypeNumber", "type": "int"}]
OPERATIONS = {"name": "Op", "type": "enum", "symbols": ["DELETE", "UPDATE", "INSERT", "DDL"]}


def nullable(avro_type):
    return ["null", avro_type]


def array(items):
    return {"type": "array", "items": items}


def record_type(name, **fields):
    fields = [{"name": n, "type": t} for n, t in fields.items()]
    return {"type": "record", "name": name, "namespace": "com.huawei.drs", "fields": fields}


LIKE_DTS = record_type(
    "Change",
    id="long",
    sourceTimestamp="long",
    sourcePosition="string",
    sourceTxid="string",
    source=record_type("Db", sourceType={"name": "Kind", "type": "enum", "symbols": ["MySQL"]}),
    operation=OPERATIONS,
    objectName=nullable("string"),
    tags={"type": "map", "values": "string"},
    fields=["null", "string", array(KEYED)],
    beforeImages=["null", "string", array(["null", record_type("Integer", value="string")])],
    afterImages=["null", "string", array(["null", "com.huawei.drs.Integer"])],
)
CELL = record_type(
    "Cell",
    type_info={"name": "Kinds", "type": "enum", "symbols": ["NULL", "LONG", "DECIMAL"]},
    value=["null", "long", record_type("DecimalObject", value="string")],
)
LIKE_OCEANBASE = record_type(
    "Change",
    id="long",
    operation=nullable(OPERATIONS),
    timestamp=nullable("long"),
    schemaName=nullable("string"),
    tableName=nullable("string"),
    fields=nullable(array(KEYED)),
    pkIndexes=nullable(array("int")),
    beforeImages=nullable(array(CELL)),
    afterImages=nullable(array("com.huawei.drs.Cell")),
    total="int",
    index="int",
    beforeImageBytes="bytes",
    afterImageBytes="bytes",
)
FOREIGN = record_type("Envelope", id="long", op="string", before="string")
DTS_INSERT = {
    "id": 7,
    "sourceTimestamp": 1696984408,
    "sourcePosition": "5@1",
    "sourceTxid": "0",
    "source": {"sourceType": "MySQL"},
    "operation": "INSERT",
    "objectName": "shop.orders",
    "tags": {"pk_uk_info": '{"PRIMARY":["id"]}'},
    "fields": [{"name": "id", "dataTypeNumber": 3}, {"name": "n", "dataTypeNumber": 3}],
    "beforeImages": None,
    "afterImages": [("com.huawei.drs.Integer", {"value": "007"}), None],
}
OCEANBASE_UPDATE = {
    "id": 8,
    "operation": "UPDATE",
    "timestamp": 1696984409,
    "schemaName": "shop",
    "tableName": "orders",
    "fields": [{"name": "id", "dataTypeNumber": 3}, {"name": "n", "dataTypeNumber": 246}],
    "pkIndexes": [0],
    "beforeImages": [{"type_info": "LONG", "value": 1}, {"type_info": "NULL", "value": None}],
    "afterImages": [
        {"type_info": "LONG", "value": 1},
        {"type_info": "DECIMAL", "value": ("com.huawei.drs.DecimalObject", {"value": "1E2"})},
    ],
    "total": -1,
    "index": -1,
    "beforeImageBytes": b"",
    "afterImageBytes": b"",
}


def encode(schema, message):
    stream = BytesIO()
    schemaless_writer(stream, parse_schema(schema), message)
    return stream.getvalue()


@pytest.fixture(scope="module")
def schemas(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "avro").mkdir()
    files = {"dts": LIKE_DTS, "oceanbase": LIKE_OCEANBASE, "foreign": FOREIGN}
    for name, schema in files.items():
        (folder / "avro" / f"like_{name}.avsc").write_text(json.dumps(schema))
    (folder / "avro" / "broken.avsc").write_text("{")
    (folder / "avro" / "archive.avsc").write_bytes(b"Rar!\x1a\x07\x00\xff")
    return drs_avro.load_schemas(folder)


def decode(schemas, data, name):
    row = drs_avro.decode(data, name and f"avro/{name}.avsc", schemas)
    return dict(zip(_avro.COLUMNS, row, strict=True))


def test_records_like_those_of_dts(schemas):
    row = decode(schemas, encode(LIKE_DTS, DTS_INSERT), "like_dts")
    assert (row["error_code"], row["shape"], row["operation"]) == (None, "dts", "INSERT")
    assert (row["id"], row["source_timestamp"], row["source_position"]) == (7, 1696984408, "5@1")
    assert (row["database_name"], row["table_name"]) == ("shop", "orders")
    assert (row["key_columns"], row["column_types"]) == (["id"], {"id": "3", "n": "3"})
    assert (row["after"], row["after_is_complete"]) == ({"id": "7", "n": None}, True)


def test_records_like_those_of_oceanbase(schemas):
    row = decode(schemas, encode(LIKE_OCEANBASE, OCEANBASE_UPDATE), "like_oceanbase")
    assert (row["error_code"], row["shape"], row["operation"]) == (None, "oceanbase", "UPDATE")
    assert (row["id"], row["source_timestamp"]) == (8, 1696984409)
    assert row["source_position"] is row["transaction_id"] is row["source_type"] is None
    assert (row["database_name"], row["table_name"]) == ("shop", "orders")
    assert (row["key_columns"], row["column_types"]) == (["id"], {"id": "LONG", "n": "DECIMAL"})
    assert (row["before"], row["after"]) == ({"id": "1", "n": None}, {"id": "1", "n": "100"})


def test_a_shard_is_refused(schemas):
    nothing = {"beforeImages": None, "afterImages": None}
    shard = OCEANBASE_UPDATE | nothing | {"total": 3, "index": 1, "afterImageBytes": b"\0"}
    row = decode(schemas, encode(LIKE_OCEANBASE, shard), "like_oceanbase")
    assert row["error_code"] == "wrong_type"
    assert "shard 1 of 3" in row["error_detail"]
    assert {v for k, v in row.items() if not k.startswith("error_")} == {None}


def test_no_schema_is_named(schemas):
    row = decode(schemas, encode(LIKE_DTS, DTS_INSERT), None)
    assert row["error_code"] == "unknown_schema"
    assert "archive" in row["error_detail"]
    assert "seeds/topics.csv" in row["error_detail"]


def test_a_foreign_schema_is_told_what_it_lacks_of_each_shape(schemas):
    row = decode(schemas, encode(FOREIGN, {"id": 1, "op": "c", "before": ""}), "like_foreign")
    assert row["error_code"] == "unknown_schema"
    of_dts, of_oceanbase = row["error_detail"].split("like those of OceanBase")
    assert "like those of DTS" in of_dts
    for lacking in ("sourceTimestamp", "sourcePosition", "objectName", "operation", "afterImages"):
        assert lacking in of_dts
    for lacking in ("schemaName", "tableName", "pkIndexes", "operation", "afterImages"):
        assert lacking in of_oceanbase


@pytest.mark.parametrize("name", ["broken", "archive", "none"])
def test_files_that_are_no_schema(schemas, name):
    row = decode(schemas, b"\0", name)
    assert row["error_code"] == "unknown_schema"
    assert f"avro/{name}.avsc" in row["error_detail"]


@pytest.mark.parametrize(
    ("schema", "message", "name"),
    [(LIKE_DTS, DTS_INSERT, "like_dts"), (LIKE_OCEANBASE, OCEANBASE_UPDATE, "like_oceanbase")],
)
def test_truncation_at_every_byte(schemas, schema, message, name):
    data = encode(schema, message)
    assert decode(schemas, b"", name)["error_code"] == "empty_value"
    assert decode(schemas, None, name)["error_code"] == "empty_value"
    for size in range(1, len(data)):
        assert decode(schemas, data[:size], name)["error_code"] == "not_avro"


@given(st.binary(max_size=200), st.sampled_from(["like_dts", "like_oceanbase", "like_foreign"]))
@settings(max_examples=500, deadline=None)
def test_random_bytes_never_raise(schemas, data, name):
    _avro.to_arrow([drs_avro.decode(data, f"avro/{name}.avsc", schemas)])
