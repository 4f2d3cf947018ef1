"""What OceanBase Avro bytes must become. Expectations come from the documents, not from the
decoder."""

import importlib
import json
import random
import struct
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import pytest
from fastavro import parse_schema, schemaless_writer
from hypothesis import given, settings
from hypothesis import strategies as st

from cdc_lakehouse.runtime.functions import open_package

PROJECT = Path(__file__).parents[2]
open_package(PROJECT)
_avro = importlib.import_module("udfs._avro")
oceanbase_avro = importlib.import_module("udfs.oceanbase_avro")

AVSC = (PROJECT / "avro" / "oceanbase_avro.avsc").read_text()
SCHEMAS = oceanbase_avro.load_schemas(PROJECT)
NAMESPACE = "com.xxx.oms.xxx.xxx.avro."
WRITER = parse_schema(json.loads(AVSC))
IMAGE_WRITER = next(f["type"][1] for f in WRITER["fields"] if f["name"] == "beforeImages")
IMAGE_WRITER = {**IMAGE_WRITER, "__named_schemas": WRITER["__named_schemas"]}
SHARD_FIELDS = ("total", "index", "beforeImageBytes", "afterImageBytes")


def cell(kind, value=None):
    return {"type_info": kind, "value": value}


def part(kind, **parts):
    return (NAMESPACE + kind, parts)


def decimal(text):
    return cell("DECIMAL", part("DecimalObject", precision=9, scale=2, value=text))


NULL = cell("NULL")


def record(operation="INSERT", columns=("c",), before=None, after=None, **more):
    """A record of the columns, whose dataTypeNumber counts up from 100."""
    fields = None
    if columns is not None:
        fields = [{"name": n, "dataTypeNumber": 100 + i} for i, n in enumerate(columns)]
    return {
        "id": 9007199254740993,
        "version": 1,
        "operation": operation,
        "xid": "tx-1",
        "txind": "W",
        "position": "1:2:3",
        "timestamp": 1696984408,
        "source": {"sourceType": "OB_MYSQL", "version": "4.2.1"},
        "schemaName": "shop",
        "tableName": "orders",
        "fields": fields,
        "pkIndexes": [0] if columns else None,
        "ukIndexes": None,
        "beforeImages": before,
        "afterImages": after,
        "sql": None,
        "tags": None,
        "total": -1,
        "index": -1,
        "beforeImageBytes": b"",
        "afterImageBytes": b"",
        **more,
    }


def encode(message, writer=WRITER):
    stream = BytesIO()
    schemaless_writer(stream, writer, message)
    return stream.getvalue()


def named(row):
    return dict(zip(_avro.COLUMNS, row, strict=True))


def decode_bytes(data, path=None, schemas=SCHEMAS):
    return named(oceanbase_avro.decode(data, path, schemas))


def decode(message, **more):
    row = decode_bytes(encode(message), **more)
    assert (row["error_code"], row["error_detail"]) == (None, None)
    return row


def text_of(sent):
    return decode(record(after=[sent]))["after"]["c"]


def refused(row):
    assert {v for k, v in row.items() if not k.startswith("error_")} == {None}
    return row["error_code"], row["error_detail"]


def refusal(message):
    return refused(decode_bytes(encode(message)))


def shard_of(message):
    return oceanbase_avro.shard(encode(message), None, SCHEMAS)


# ---------------------------------------------------------------------------- the record


def test_update():
    sent = record(
        "UPDATE",
        ("id", "note"),
        before=[cell("LONG", 7), cell("STRING", "a")],
        after=[cell("LONG", 7), NULL],
        txind="B",
    )
    assert decode(sent) == {
        "error_code": None,
        "error_detail": None,
        "shape": "oceanbase",
        "operation": "UPDATE",
        "source_type": "OB_MYSQL",
        "id": 9007199254740993,
        "source_timestamp": 1696984408,
        "born_timestamp": None,
        "source_position": "1:2:3",
        "transaction_id": "tx-1",
        "transaction_flag": "B",
        "database_name": "shop",
        "schema_name": None,
        "table_name": "orders",
        "key_columns": ["id"],
        "column_types": {"id": "LONG", "note": "STRING"},
        "before": {"id": "7", "note": "a"},
        "before_is_complete": True,
        "after": {"id": "7", "note": None},
        "after_is_complete": True,
        "ddl": None,
        "shard_total": None,
        "shard_index": None,
    }


def test_wire_order_against_bytes_written_by_hand():
    # id 1, version (branch 0) 1, INSERT, xid null, txind W, position "p", timestamp 2, source
    # (OB_ORACLE, "8"), "d", "t", one block of one field "c" of type 5, key [0], no unique keys
    by_hand = bytes([2, 0, 2, 2, 0, 0, 2, 6, 2, 2]) + b"p" + bytes([2, 4, 2, 2, 2]) + b"8"
    by_hand += bytes([2, 2]) + b"d" + bytes([2, 2]) + b"t"
    by_hand += bytes([2, 2, 2]) + b"c" + bytes([10, 0]) + bytes([2, 2, 0, 0]) + bytes([0])
    # no before, after: one INTEGER in branch 2 (int) of -3; sql, tags null; -1, -1, "", ""
    by_hand += bytes([0, 2, 2, 2, 4, 5, 0]) + bytes([0, 0, 1, 1, 0, 0])
    row = decode_bytes(by_hand)
    assert (row["error_code"], row["operation"], row["source_type"]) == (
        None,
        "INSERT",
        "OB_ORACLE",
    )
    assert (row["id"], row["source_timestamp"], row["source_position"]) == (1, 2, "p")
    assert (row["database_name"], row["table_name"]) == ("d", "t")
    assert (row["transaction_id"], row["transaction_flag"]) == (None, "W")
    assert (row["key_columns"], row["after"]) == (["c"], {"c": "-3"})


def test_ddl():
    sql = "create table t1 (id int)"
    row = decode(record("DDL", None, sql=sql, tableName=None, txind=None))
    assert (row["ddl"], row["database_name"], row["table_name"]) == (sql, "shop", None)
    assert row["after"] is row["before"] is row["column_types"] is row["key_columns"] is None
    assert row["transaction_flag"] is None


@pytest.mark.parametrize("operation", ["BEGIN", "COMMIT", "HEARTBEAT"])
def test_records_without_rows(operation):
    nothing = dict.fromkeys(("xid", "txind", "position", "source", "schemaName", "tableName"))
    row = decode(record(operation, None, **nothing))
    assert (row["operation"], row["source_timestamp"]) == (operation, 1696984408)
    assert row["transaction_id"] is row["source_type"] is row["database_name"] is None


def test_everything_that_may_be_null_is():
    message = record(None, None, timestamp=None)
    assert decode(message)["operation"] is None
    assert decode(message)["source_timestamp"] is None


def test_key_columns_in_the_order_sent():
    row = decode(record(columns=("a", "b", "c"), after=[NULL] * 3, pkIndexes=[2, 0]))
    assert row["key_columns"] == ["c", "a"]
    assert decode(record(after=[NULL], pkIndexes=None))["key_columns"] is None
    assert decode(record(after=[NULL], pkIndexes=[]))["key_columns"] is None


@pytest.mark.parametrize("index", [-1, 1, 2**31 - 1])
def test_key_index_beyond_the_fields(index):
    code, detail = refusal(record(after=[NULL], pkIndexes=[index]))
    assert (code, str(index) in detail) == ("wrong_type", True)


def test_types_of_after_then_before_then_the_number():
    row = decode(
        record(
            "UPDATE",
            ("a", "b", "c"),
            before=[cell("INTEGER", 1), cell("STRING", "x"), NULL],
            after=[cell("LONG", 1), NULL, NULL],
        )
    )
    assert row["column_types"] == {"a": "LONG", "b": "STRING", "c": "102"}


def test_null_comes_as_kind_or_as_branch():
    row = decode(record(columns=("a", "b"), after=[NULL, cell("STRING")]))
    assert row["after"] == {"a": None, "b": None}
    assert row["column_types"] == {"a": "100", "b": "STRING"}


def test_short_image_is_incomplete():
    row = decode(record("DELETE", ("a", "b"), before=[cell("INTEGER", 1)]))
    assert (row["before"], row["before_is_complete"]) == ({"a": "1"}, False)
    assert (row["after"], row["after_is_complete"]) == (None, None)


def test_short_after_is_completed_from_a_complete_before():
    one, two = cell("INTEGER", 1), cell("INTEGER", 2)
    row = decode(record("UPDATE", ("a", "b"), before=[one, one], after=[two]))
    assert (row["after"], row["after_is_complete"]) == ({"a": "2", "b": "1"}, True)


@pytest.mark.parametrize(
    ("message", "word"),
    [
        (record(after=[NULL, NULL]), "2 values for 1 fields"),
        (record(columns=None, after=[NULL]), "without fields"),
        (record(columns=("a", "a"), after=[NULL, NULL]), "more than once"),
        (record(after=[decimal("1,5")]), "'c' of afterImages"),
        (record("DELETE", before=[decimal("")]), "'c' of beforeImages"),
    ],
)
def test_wrong_type(message, word):
    code, detail = refusal(message)
    assert code == "wrong_type"
    assert word in detail


# ---------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (cell("BOOLEAN", True), "1"),
        (cell("BOOLEAN", False), "0"),
        (cell("INTEGER", 0), "0"),
        (cell("INTEGER", -2147483648), "-2147483648"),
        (cell("LONG", -9223372036854775808), "-9223372036854775808"),
        (cell("LONG", 9223372036854775807), "9223372036854775807"),
        (cell("LONG", "18446744073709551615"), "18446744073709551615"),
        (cell("STRING", ""), ""),
        (cell("STRING", "Zoë 漢字 😀 \U0001f600"), "Zoë 漢字 😀 \U0001f600"),
        (cell("STRING", "a\x00b"), "a\x00b"),
        (cell("STRING", '{"a": 1.0}'), '{"a": 1.0}'),
        (cell("STRING", "é".encode()), "é"),
        (cell("STRING", part("StringObject", charsetName="gbk", value="中")), "中"),
        (cell("STRING", part("StringObject", charsetName="klingon", value="é\x00")), "é\x00"),
        (cell("BINARY", b"\x00\xde\xad"), "00dead"),
        (cell("BINARY", b""), ""),
        (cell("RAW", b"\xff"), "ff"),
        (cell("BINARY", "as text"), "as text"),
        (cell("ARRAY", "[1,2]"), "[1,2]"),
        (cell("MAP", '{"a":1}'), '{"a":1}'),
        (cell("VECTOR", b"\x01\x02"), "0102"),
        (cell("SPARSE_VECTOR", "{1:0.5}"), "{1:0.5}"),
        (cell("ROARINGBITMAP", b"\x3a\x30"), "3a30"),
        (cell("GEOMETRY", part("GeometryValue", srid=4326, wkb=b"\x01\xab")), "01ab"),
        (cell("DATE", part("DateObject", year=2023, month=1, day=2)), "2023-01-02"),
        (cell("DATE", part("DateObject", year=0, month=0, day=0)), "0000-00-00"),
        (cell("DATE", part("DateObject", year=-44, month=3, day=15)), "-0044-03-15"),
    ],
)
def test_value(sent, expected):
    assert text_of(sent) == expected


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("123.4500", "123.4500"),
        ("-0.10", "-0.10"),
        ("-0", "0"),
        (".5", "0.5"),
        ("1E+3", "1000"),
        ("-1.50E-3", "-0.00150"),
        ("9" * 300 + ".5", "9" * 300 + ".5"),
        ("1E-300", "0." + "0" * 299 + "1"),
        ("1E+99999999", "1E+99999999"),
        ("NaN", "NaN"),
    ],
)
def test_decimal(sent, expected):
    assert text_of(decimal(sent)) == expected
    assert text_of(cell("DECIMAL", sent)) == expected


def with_float_branch(number):
    """A record whose value is in the branch `float`, which fastavro never chooses for a number."""
    data = encode(record(after=[cell("FLOAT", b"1234")]))
    at = data.index(bytes([12, 8]) + b"1234")
    return data[:at] + bytes([8]) + struct.pack("<f", number) + data[at + 6 :]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0.1, "0.1"),
        (5.0, "5.0"),
        (-0.0, "-0.0"),
        (16777216.0, "16777216.0"),
        (1.17549435e-38, "0." + "0" * 37 + "11754944"),
        (1.4e-45, "0." + "0" * 44 + "1"),
        (3.4028234663852886e38, "34028235" + "0" * 31 + ".0"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_four_byte_float(number, expected):
    assert decode_bytes(with_float_branch(number))["after"] == {"c": expected}


@pytest.mark.parametrize(
    ("kind", "sent", "expected"),
    [
        ("DOUBLE", 0.1, "0.1"),
        ("DOUBLE", 0.10000000149011612, "0.10000000149011612"),
        ("DOUBLE", 1e16, "10000000000000000.0"),
        ("DOUBLE", -1.5e-7, "-0.00000015"),
        ("DOUBLE", float("inf"), "Infinity"),
        # 0.1 as a four-byte float, widened
        ("FLOAT", 0.10000000149011612, "0.1"),
        # no four-byte float
        ("FLOAT", 0.30000000000000004, "0.30000000000000004"),
    ],
)
def test_double(kind, sent, expected):
    double = struct.pack("<d", sent)
    data = encode(record(after=[cell(kind, b"12345678")]))
    at = data.index(bytes([12, 16]) + b"12345678")
    data = data[:at] + bytes([10]) + double + data[at + 10 :]
    assert decode_bytes(data)["after"] == {"c": expected}


@pytest.mark.parametrize(
    ("negative", "parts", "nanos", "expected"),
    [
        (False, (0, 0, 0), 0, "00:00:00"),
        (True, (0, 0, 0), 0, "00:00:00"),
        (True, (0, 0, 0), 1, "-00:00:00.000000001"),
        (False, (26, 3, 4), 0, "26:03:04"),
        (True, (838, 59, 59), 999999000, "-838:59:59.999999"),
    ],
)
def test_time(negative, parts, nanos, expected):
    clock = dict(zip(("hours", "minutes", "seconds"), parts, strict=True))
    sent = cell("TIME", part("TimeObject", negative=negative, **clock, nanos=nanos))
    assert text_of(sent) == expected


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((2023, 1, 2, 3, 4, 5, 0), "2023-01-02 03:04:05"),
        ((2023, 1, 2, 3, 4, 5, 120000000), "2023-01-02 03:04:05.12"),
        ((9999, 12, 31, 23, 59, 59, 999999999), "9999-12-31 23:59:59.999999999"),
        ((0, 0, 0, 0, 0, 0, 0), "0000-00-00 00:00:00"),
        ((2023, 0, 0, 0, 0, 0, 0), "2023-00-00 00:00:00"),
    ],
)
@pytest.mark.parametrize("kind", ["DATETIME", "DATE"])  # Oracle's DATE has a time
def test_datetime(kind, parts, expected):
    names = ("year", "month", "day", "hours", "minutes", "seconds", "nanos")
    sent = part("DateTimeObject", **dict(zip(names, parts, strict=True)))
    assert text_of(cell(kind, sent)) == expected


@pytest.mark.parametrize(
    ("seconds", "nanos", "zone", "expected"),
    [
        (1696984408, 0, None, "2023-10-11 00:33:28"),
        (1696984408, 123000000, "", "2023-10-11 00:33:28.123"),
        (-1, 1, None, "1969-12-31 23:59:59.000000001"),
        (253402300800, 0, None, "10000-01-01 00:00:00"),
        (1696984408, 0, "Asia/Shanghai", "2023-10-11 08:33:28 Asia/Shanghai"),
        (1696984408, 500, "America/New_York", "2023-10-10 20:33:28.0000005 America/New_York"),
        # before New York left summer time in 2023, and after
        (1699163999, 0, "America/New_York", "2023-11-05 01:59:59 America/New_York"),
        (1699164000, 0, "America/New_York", "2023-11-05 01:00:00 America/New_York"),
        (1696984408, 0, "UTC", "2023-10-11 00:33:28 UTC"),
        (1696984408, 0, "Z", "2023-10-11 00:33:28 Z"),
        (1696984408, 0, "+08:00", "2023-10-11 08:33:28 +08:00"),
        (1696984408, 0, "-03:30", "2023-10-10 21:03:28 -03:30"),
        (1696984408, 0, "+8", "2023-10-11 08:33:28 +8"),
        (1696984408, 0, "GMT+8", "2023-10-11 08:33:28 GMT+8"),
        # zones that nobody knows, or that only mean something on one machine
        (1696984408, 0, "CST-ish", "2023-10-11 00:33:28 UTC"),
        (1696984408, 0, "localtime", "2023-10-11 00:33:28 UTC"),
        (1696984408, 0, "../../etc/passwd", "2023-10-11 00:33:28 UTC"),
        (1696984408, 0, "Asia", "2023-10-11 00:33:28 UTC"),
        (1696984408, 0, "a\0b", "2023-10-11 00:33:28 UTC"),
        # beyond what the zone's rules can say
        (253402300800, 0, "Asia/Shanghai", "10000-01-01 00:00:00 UTC"),
    ],
)
def test_timestamp(seconds, nanos, zone, expected):
    sent = part("TimestampObject", seconds=seconds, nanos=nanos, timezone=zone)
    assert text_of(cell("TIMESTAMP", sent)) == expected


@pytest.mark.parametrize(
    ("length", "sent", "expected"),
    [
        (1, "0", "0"),
        (1, "1", "1"),
        (8, "5", "5"),
        (8, "255", "255"),
        (8, "101", "101"),  # fits as a number, too short for bits
        (3, "101", "5"),  # 101 would need seven bits
        (8, "00000101", "5"),
        (64, "1" * 64, "18446744073709551615"),
        (64, "18446744073709551615", "18446744073709551615"),
        (20, "1" + "0" * 19, "524288"),
        (8, "b'0101'", "5"),
        (8, "0b0101", "5"),
    ],
)
def test_bit(length, sent, expected):
    assert text_of(cell("BIT", part("BitObject", bit_length=length, value=sent))) == expected


@pytest.mark.parametrize(
    ("length", "sent"),
    [(8, "0101"), (8, "256"), (4, "b'11111'"), (8, ""), (8, "-1"), (8, "x"), (8, "٣"), (0, "5")],
)
def test_bits_that_could_mean_anything(length, sent):
    bit = cell("BIT", part("BitObject", bit_length=length, value=sent))
    assert refusal(record(after=[bit]))[0] == "wrong_type"


@pytest.mark.parametrize(
    ("kind", "sent", "labels", "expected"),
    [
        ("ENUM", "small", ["small", "large"], "small"),
        ("ENUM", "2", ["small", "large"], "large"),
        ("ENUM", "0", ["small", "large"], ""),
        ("ENUM", "2", None, "2"),
        ("ENUM", "2", ["3", "2", "1"], "2"),  # a label, not the second
        ("ENUM", "", ["small"], ""),
        ("SET", "a,c", ["a", "b", "c"], "a,c"),
        ("SET", "5", ["a", "b", "c"], "a,c"),
        ("SET", "0", ["a", "b", "c"], ""),
        ("SET", "5", None, "5"),
        ("SET", str(2**63), [f"l{i}" for i in range(64)], "l63"),
    ],
)
def test_enum_and_set(kind, sent, labels, expected):
    assert text_of(cell(kind, part("EnumSetValue", value=sent, defines=labels))) == expected


LATE = {"negative": False, "hours": 1, "minutes": 60, "seconds": 0, "nanos": 0}


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (cell("ENUM", part("EnumSetValue", value="3", defines=["a", "b"])), "wrong_type"),
        (cell("SET", part("EnumSetValue", value="4", defines=["a", "b"])), "wrong_type"),
        (cell("DATE", part("DateObject", year=1, month=13, day=1)), "wrong_type"),
        (cell("TIMESTAMP", part("TimestampObject", seconds=1, nanos=-1)), "wrong_type"),
        (cell("TIMESTAMP", part("TimestampObject", seconds=1, nanos=10**9)), "wrong_type"),
        (cell("DECIMAL", b"\x01"), "wrong_type"),
        (cell("BIT", b"\x01"), "wrong_type"),
        (cell("STRING", b"a\xff"), "not_text"),
        (cell("TIME", part("TimeObject", **LATE)), "wrong_type"),
    ],
)
def test_values_that_are_none(sent, code):
    found, detail = refusal(record(after=[sent]))
    assert found == code
    assert "'c'" in detail


# ---------------------------------------------------------------------------- shards

COLUMNS = ("id", "note", "price")
BEFORE = [cell("LONG", 1), cell("STRING", "é"), decimal("1.50")]
AFTER = [cell("LONG", 1), NULL, decimal("2.50")]
WHOLE = decode(record("UPDATE", COLUMNS, BEFORE, AFTER))


def image_bytes(image):
    return encode(image, IMAGE_WRITER)


def cut(data, *places):
    places = (0, *places, len(data))
    return [data[start:end] for start, end in pairwise(places)]


def shards(before, after, first=0, **later):
    """Shards of WHOLE that carry these pieces; `later` changes the header of all but the first."""
    return [
        encode(
            record("UPDATE", COLUMNS, total=len(before), index=first + i)
            | {"beforeImageBytes": b, "afterImageBytes": a, **(later if i else {})}
        )
        for i, (b, a) in enumerate(zip(before, after, strict=True))
    ]


def assemble(values, path=None, schemas=SCHEMAS):
    return named(oceanbase_avro.assemble(values, path, schemas))


@pytest.mark.parametrize("first", [0, 1])
def test_two_shards_cut_anywhere(first):
    before, after = image_bytes(BEFORE), image_bytes(AFTER)
    for place in range(len(before) + 1):
        pieces = cut(before, place), cut(after, min(place, len(after)))
        assert assemble(shards(*pieces, first)) == WHOLE


def test_five_shards_cut_anywhere():
    before, after = image_bytes(BEFORE), image_bytes(AFTER)
    bare = dict.fromkeys(("operation", "fields", "pkIndexes", "schemaName", "tableName"))
    for place in range(len(before) - 2):
        places = place, place + 1, place + 1, place + 3
        pieces = cut(before, *places), cut(after, *(min(p, len(after)) for p in places))
        assert assemble(shards(*pieces)) == WHOLE
        assert assemble(shards(*pieces, **bare)) == WHOLE  # the first alone has a header


def test_one_image_first_then_the_other():
    before, after = image_bytes(BEFORE), image_bytes(AFTER)
    pieces = [*cut(before, 5), b""], [b"", b"", after]
    assert assemble(shards(*pieces)) == WHOLE
    row = assemble(shards([b"", b""], cut(after, 3)))
    assert (row["before"], row["before_is_complete"]) == (None, None)
    assert row["after"] == WHOLE["after"]


def test_header_of_the_first_shard_that_has_fields():
    values = shards(cut(image_bytes(BEFORE), 4), cut(image_bytes(AFTER), 4))
    values[0] = encode(
        record(None, None, total=2, index=0, beforeImageBytes=image_bytes(BEFORE)[:4])
        | {"afterImageBytes": image_bytes(AFTER)[:4]}
    )
    assert assemble(values) == WHOLE


def test_shard_is_header_and_numbers():
    (value, _) = shards(cut(image_bytes(BEFORE), 4), cut(image_bytes(AFTER), 4))
    row = decode_bytes(value)
    nothing = dict.fromkeys(("before", "before_is_complete", "after", "after_is_complete"))
    types = {"id": "100", "note": "101", "price": "102"}
    numbers = {"shard_total": 2, "shard_index": 0, "column_types": types}
    assert row == {**WHOLE, **nothing, **numbers}
    assert oceanbase_avro.shard(value, None, SCHEMAS) == (9007199254740993, 2, 0)


def test_the_only_shard_is_a_whole_record():
    (value,) = shards([image_bytes(BEFORE)], [image_bytes(AFTER)])
    assert decode_bytes(value) == WHOLE
    assert oceanbase_avro.shard(value, None, SCHEMAS) is None


def test_ordinary_records_are_no_shards():
    assert shard_of(record("UPDATE", COLUMNS, BEFORE, AFTER)) is None
    assert shard_of(record("DELETE", COLUMNS, BEFORE)) is None
    assert shard_of(record("INSERT", COLUMNS, None, AFTER)) is None
    assert shard_of(record("INSERT", COLUMNS)) is None
    assert shard_of(record("INSERT", COLUMNS, None, AFTER, total=1, index=0)) is None
    assert shard_of(record("HEARTBEAT", None)) is None
    assert oceanbase_avro.shard(b"", None, SCHEMAS) is None
    assert oceanbase_avro.shard(None, None, SCHEMAS) is None
    assert oceanbase_avro.shard(b"\xff" * 50, None, SCHEMAS) is None
    assert oceanbase_avro.shard(b"\0", "avro/none.avsc", SCHEMAS) is None


def test_shard_whose_nulls_have_more_bytes_than_they_need():
    sent = record(columns=COLUMNS, total=3, index=2, afterImageBytes=b"x")
    names = [field["name"] for field in WRITER["fields"]]
    head = {**WRITER, "fields": WRITER["fields"][: names.index("beforeImages")]}
    at = len(encode(sent, head))
    data = encode(sent)
    assert data[at : at + 2] == b"\0\0"
    for nulls in (b"\x80\0\0", b"\0\x80\0"):
        padded = data[:at] + nulls + data[at + 2 :]
        assert decode_bytes(padded)["shard_total"] == 3
        assert oceanbase_avro.shard(padded, None, SCHEMAS) == (9007199254740993, 3, 2)


def test_shards_of_many_tables_in_turn():
    for _ in range(2):
        for width in range(1, 5):
            names = [f"c{i}" for i in range(width)]
            assert shard_of(record(columns=names, after=[NULL] * width)) is None
            part_ = record(columns=names, total=3, index=2, afterImageBytes=b"x")
            assert shard_of(part_) == (9007199254740993, 3, 2)


@pytest.mark.parametrize(
    ("numbers", "found"),
    [
        ((2, 3), "shard 3 of 2"),
        ((2, -1), "shard -1 of 2"),
        ((0, 0), "shard 0 of 0"),
        ((-1, -1), "shard -1 of -1"),
        ((100_001, 5), "shard 5 of 100001"),
    ],
)
def test_numbers_that_no_shard_has(numbers, found):
    total, index = numbers
    sent = record(columns=COLUMNS, total=total, index=index, afterImageBytes=b"\0")
    assert shard_of(sent) is None
    code, detail = refusal(sent)
    assert (code, found in detail) == ("wrong_type", True)


def test_shards_that_contradict_themselves():
    both = record("INSERT", COLUMNS, None, AFTER, total=2, index=0, afterImageBytes=b"\0")
    assert refusal(both)[0] == "wrong_type"
    assert refusal(record("DDL", None, sql="x", total=2, index=0))[0] == "wrong_type"
    assert shard_of(both) is None


@pytest.mark.parametrize(
    ("values", "code", "word"),
    [
        (None, "empty_value", "null"),
        ([], "empty_value", "zero"),
        ([None], "empty_value", "value 1 of the 1 shards"),
        ([b""], "empty_value", "value 1 of the 1 shards"),
        ([b"\xff"], "not_avro", "value 1 of the 1 shards"),
        ([encode(record(columns=COLUMNS, after=AFTER))], "wrong_type", "no shard"),
    ],
)
def test_values_that_are_no_shards(values, code, word):
    found, detail = refused(assemble(values))
    assert found == code
    assert word in detail


def test_sets_that_are_not_whole():
    pieces = cut(image_bytes(BEFORE), 4, 6), cut(image_bytes(AFTER), 4, 6)
    values = shards(*pieces)
    assert assemble(values) == WHOLE
    for wrong in (values[:2], values[1:], [*values, values[2]], values[::-1], [values[0]] * 3):
        assert refused(assemble(wrong))[0] == "wrong_type"
    code, detail = refused(assemble(shards(*pieces, id=5)))
    assert (code, "two records" in detail) == ("wrong_type", True)
    headless = [encode(record(None, None, total=2, index=i, afterImageBytes=b"\0")) for i in (0, 1)]
    assert "fields" in refused(assemble(headless))[1]


def test_images_out_of_shards_that_cannot_be_read():
    before, after = image_bytes(BEFORE), image_bytes(AFTER)
    code, detail = refused(assemble(shards(cut(before[:-1], 4), cut(after, 4))))
    assert (code, "beforeImages" in detail) == ("not_avro", True)
    code, detail = refused(assemble(shards(cut(before, 4), cut(after + b"\1", 4))))
    assert code == "not_avro"
    assert "left over after afterImages" in detail
    for size in range(1, len(after)):
        row = assemble(shards(cut(before, 4), cut(after[:size], size // 2)))
        assert (row["error_code"], "afterImages" in row["error_detail"]) == ("not_avro", True)


# ---------------------------------------------------------------------------- broken bytes

CLOCK = {"hours": 1, "minutes": 2, "seconds": 3, "nanos": 4}
EVERY_VALUE = [
    cell("BOOLEAN", True),
    cell("INTEGER", 1),
    cell("DOUBLE", 1.5),
    cell("BINARY", b"\0\1"),
    cell("STRING", "é"),
    cell("STRING", part("StringObject", charsetName="utf8mb4", value="x")),
    decimal("1.0"),
    cell("DATE", part("DateObject", year=2023, month=1, day=2)),
    cell("TIME", part("TimeObject", negative=True, **CLOCK)),
    cell("DATETIME", part("DateTimeObject", year=2023, month=1, day=2, **CLOCK)),
    cell("TIMESTAMP", part("TimestampObject", seconds=1, nanos=2, timezone="Asia/Shanghai")),
    cell("BIT", part("BitObject", bit_length=8, value="5")),
    cell("SET", part("EnumSetValue", value="3", defines=["a", "b"])),
    cell("GEOMETRY", part("GeometryValue", srid=0, wkb=b"\1")),
    NULL,
]
NAMES = [f"c{i}" for i in range(len(EVERY_VALUE))]
EVERYTHING = encode(record("UPDATE", NAMES, EVERY_VALUE, EVERY_VALUE, tags={"a": "b"}))
SHARD = encode(record("UPDATE", NAMES, total=2, index=1, afterImageBytes=image_bytes(EVERY_VALUE)))


def decode_all(data):
    """Decode bytes in each of the three ways, down to Arrow."""
    rows = [
        oceanbase_avro.decode(data, None, SCHEMAS),
        oceanbase_avro.assemble([data], None, SCHEMAS),
        oceanbase_avro.assemble([SHARD, data], None, SCHEMAS),
    ]
    _avro.to_arrow(rows)
    found = oceanbase_avro.shard(data, None, SCHEMAS)
    oceanbase_avro.shards_to_arrow([found])
    # What is a shard to one function is one to the other, unless the rest of its header is bad.
    row = named(rows[0])
    numbers = row["shard_total"] and (row["id"], row["shard_total"], row["shard_index"])
    assert found == numbers or (numbers is None and row["error_code"] == "wrong_type")


def test_everything_is_a_record():
    assert decode_bytes(EVERYTHING)["error_code"] is None
    decode_all(EVERYTHING)
    decode_all(SHARD)


@pytest.mark.parametrize("whole", [EVERYTHING, SHARD], ids=["record", "shard"])
def test_truncation_at_every_byte(whole):
    for size in range(1, len(whole)):
        row = decode_bytes(whole[:size])
        assert row["error_code"] == "not_avro"
        assert "byte" in row["error_detail"]
        decode_all(whole[:size])


@pytest.mark.parametrize("whole", [EVERYTHING, SHARD], ids=["record", "shard"])
def test_flipped_bits_never_raise(whole):
    chance = random.Random(4711)
    for _ in range(4000):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        decode_all(bytes(data))


@given(st.binary(max_size=300))
@settings(max_examples=500, deadline=None)
def test_random_bytes_never_raise(data):
    decode_all(data)


def test_a_registry_header_is_named():
    data = EVERYTHING
    assert decode_bytes(data)["error_code"] is None
    row = decode_bytes(b"\0\0\0\0\x07" + data)
    assert row["error_code"] == "not_avro"
    said = "; behind a registry header, 00 00 00 00 07, is a record of the schema"
    assert row["error_detail"].endswith(said)
    for other in (b"\0\0\0\0\x07", b"\0" * 40, b"\0\0\0\0\x07" + data[:-1], b"\x01" * 5 + data):
        assert "registry" not in decode_bytes(other)["error_detail"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (None, "empty_value"),
        (b"", "empty_value"),
        (b"\0", "not_avro"),
        (b'{"database":"mydb","table":"t1","type":"INSERT"}', "not_avro"),
        (EVERYTHING + b"\0", "not_avro"),
        (b"\xff" * 100, "not_avro"),
    ],
)
def test_no_record(data, code):
    found, detail = refused(decode_bytes(data))
    assert found == code
    assert detail


# ---------------------------------------------------------------------------- schemas


def user_schemas(tmp_path, text):
    (tmp_path / "avro").mkdir()
    (tmp_path / "avro" / "mine.avsc").write_text(text)
    return oceanbase_avro.load_schemas(tmp_path)


def test_namespace_of_the_schema_does_not_matter(tmp_path):
    schemas = user_schemas(tmp_path, AVSC.replace(NAMESPACE[:-1], "com.example"))
    row = decode_bytes(EVERYTHING, "avro/mine.avsc", schemas)
    assert row == decode_bytes(EVERYTHING)
    assert row["error_code"] is None
    assert oceanbase_avro.shard(SHARD, "avro/mine.avsc", schemas) == (9007199254740993, 2, 1)


@pytest.mark.parametrize("kept", [0, 2])
def test_schema_without_some_of_the_last_fields(tmp_path, kept):
    schema = json.loads(AVSC)
    gone = SHARD_FIELDS[kept:]
    schema["fields"] = [f for f in schema["fields"] if f["name"] not in gone]
    schemas = user_schemas(tmp_path, json.dumps(schema))
    writer = {**WRITER, "fields": [f for f in WRITER["fields"] if f["name"] not in gone]}
    message = record("UPDATE", COLUMNS, BEFORE, AFTER)
    data = encode({k: v for k, v in message.items() if k not in gone}, writer)
    assert decode_bytes(data, "avro/mine.avsc", schemas) == WHOLE
    assert oceanbase_avro.shard(data, "avro/mine.avsc", schemas) is None
    # The same record with all of its fields is longer than this schema says.
    left = refused(decode_bytes(encode(message), "avro/mine.avsc", schemas))
    assert left[0] == "not_avro"


def test_schema_with_more_last_fields(tmp_path):
    schema = json.loads(AVSC)
    schema["fields"].append({"name": "more", "type": ["null", "string"], "default": None})
    schemas = user_schemas(tmp_path, json.dumps(schema))
    data = encode(record("UPDATE", COLUMNS, BEFORE, AFTER)) + b"\2\2x"
    assert decode_bytes(data, "avro/mine.avsc", schemas) == WHOLE
    shard = oceanbase_avro.shard(SHARD + b"\0", "avro/mine.avsc", schemas)
    assert shard == (9007199254740993, 2, 1)


def test_schema_as_published(tmp_path):
    """The document gives DateTimeObject.nanos, an int, the default null."""
    schema = json.loads(AVSC)
    image = field(schema, "beforeImages")["type"][1]["items"]
    values = field(image, "value")["type"]
    moment = next(v for v in values if isinstance(v, dict) and v["name"] == "DateTimeObject")
    field(moment, "nanos")["default"] = None
    schemas = user_schemas(tmp_path, json.dumps(schema))
    assert decode_bytes(EVERYTHING, "avro/mine.avsc", schemas) == decode_bytes(EVERYTHING)


def test_missing_schema_is_named_with_those_that_exist():
    code, detail = refused(decode_bytes(EVERYTHING, "avro/none.avsc"))
    assert code == "unknown_schema"
    assert "avro/none.avsc" in detail
    assert "avro/oceanbase_avro.avsc" in detail


def field(schema, name):
    return next(field for field in schema["fields"] if field["name"] == name)


def no_operation(schema):
    schema["fields"].remove(field(schema, "operation"))


def keys_as_text(schema):
    field(schema, "pkIndexes")["type"] = "string"


def total_as_text(schema):
    field(schema, "total")["type"] = "string"


def value_without_union(schema):
    image = field(schema, "beforeImages")["type"][1]["items"]
    field(image, "value")["type"] = "string"


def decimal_as_bytes(schema):
    image = field(schema, "beforeImages")["type"][1]["items"]
    values = field(image, "value")["type"]
    number = next(v for v in values if isinstance(v, dict) and v["name"] == "DecimalObject")
    field(number, "value")["type"] = "bytes"


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (no_operation, "operation (enum)"),
        (keys_as_text, "pkIndexes (array)"),
        (total_as_text, "total (int)"),
        (value_without_union, "value (union)"),
        (decimal_as_bytes, "DecimalObject lacks value (string)"),
    ],
)
def test_schemas_that_cannot_serve(tmp_path, change, word):
    schema = json.loads(AVSC)
    change(schema)
    schemas = user_schemas(tmp_path, json.dumps(schema))
    code, detail = refused(decode_bytes(EVERYTHING, "avro/mine.avsc", schemas))
    assert code == "unknown_schema"
    assert word in detail


def test_value_of_a_kind_that_is_not_documented(tmp_path):
    schema = json.loads(AVSC)
    image = field(schema, "beforeImages")["type"][1]["items"]
    field(image, "value")["type"].append({"type": "array", "items": "long"})
    schemas = user_schemas(tmp_path, json.dumps(schema))
    data = encode(record(after=[cell("ARRAY", "XX")]))
    at = data.index(bytes([14, 4]) + b"XX")
    data = data[:at] + bytes([34, 2, 2, 0]) + data[at + 4 :]
    code, detail = refused(decode_bytes(data, "avro/mine.avsc", schemas))
    assert (code, "ARRAY" in detail) == ("wrong_type", True)


def test_a_row_that_arrow_does_not_take_leaves_its_neighbours_alone(tmp_path):
    schema = json.loads(AVSC)
    column = field(schema, "fields")["type"][1]["items"]
    field(column, "name")["type"] = ["null", "string"]
    schemas = user_schemas(tmp_path, json.dumps(schema))
    writer = parse_schema(schema)
    values = [encode(record(columns=[name], after=[NULL]), writer) for name in (None, "c")]
    rows = [oceanbase_avro.decode(value, "avro/mine.avsc", schemas) for value in values]
    bad, good = _avro.to_arrow(rows).to_pylist()
    assert bad["error_code"] == "wrong_type"
    assert (good["error_code"], good["after"]) == (None, [("c", None)])


def test_counts_that_the_bytes_do_not_hold():
    """Lengths and counts of 2**62 end where the bytes end, in no time and memory."""
    huge = b"\x80" * 8 + b"\x80\x40"
    start = encode(record("INSERT", None, tags={}))
    for at in range(len(start)):
        decode_all(start[:at] + huge + start[at:])


# ---------------------------------------------------------------------------- Spark


@pytest.fixture(scope="module")
def lakehouse(open_lakehouse):
    return open_lakehouse("decoders")


def literal(data):
    return "cast(null as binary)" if data is None else f"X'{data.hex()}'"


def test_functions_in_sql(lakehouse):
    whole = encode(record("UPDATE", COLUMNS, BEFORE, AFTER))
    parts = shards(cut(image_bytes(BEFORE), 4), cut(image_bytes(AFTER), 4))
    values = [whole, parts[0], b"\xff", None]
    rows = ", ".join(f"({i}, {literal(value)})" for i, value in enumerate(values))
    found = lakehouse.query(
        f"""
        select
            decode_oceanbase_avro(value, null) as decoded,
            oceanbase_shard(value, null) as shard,
            decode_drs_avro(value, 'avro/oceanbase_avro.avsc') as of_drs,
            decode_drs_avro(value, null).error_code as unnamed
        from values {rows} as v(number, value)
        order by number
        """
    )
    assert found[0]["decoded"].asDict() == {**WHOLE, "stated": None}
    assert found[0]["of_drs"].asDict() == {**WHOLE, "stated": None}
    assert [row["shard"] and tuple(row["shard"]) for row in found] == [
        None,
        (9007199254740993, 2, 0),
        None,
        None,
    ]
    codes = [None, None, "not_avro", "empty_value"]
    assert [row["decoded"].error_code for row in found] == codes
    assert found[1]["of_drs"].error_code == "wrong_type"
    assert {row["unnamed"] for row in found} == {"unknown_schema"}

    values = ", ".join(map(literal, parts))
    assembled = f"select assemble_oceanbase_avro(array({values}), null) as record"
    assert lakehouse.query(assembled)[0]["record"].asDict() == {**WHOLE, "stated": None}
    nothing = "select assemble_oceanbase_avro(cast(null as array<binary>), null) as record"
    assert lakehouse.query(nothing)[0]["record"].error_code == "empty_value"
