"""What DTS Avro bytes must become. Expectations come from the documents, not from the decoder."""

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
dts_avro = importlib.import_module("udfs.dts_avro")

AVSC = (PROJECT / "avro" / "dts_avro.avsc").read_text()
SCHEMAS = dts_avro.load_schemas(PROJECT)
NAMESPACE = "com.alibaba.dts.formats.avro."
WRITER = parse_schema(json.loads(AVSC))[-1]
OLD_WRITER = {**WRITER, "fields": WRITER["fields"][:-1]}

INT, FLOAT, DATE, TIME, DATETIME, YEAR, VARCHAR, TIME2 = 3, 4, 10, 11, 12, 13, 15, 19
NULL, NONE = (NAMESPACE + "EmptyObject", "NULL"), (NAMESPACE + "EmptyObject", "NONE")


def value(kind, **parts):
    return (NAMESPACE + kind, parts)


def integer(text):
    return value("Integer", precision=4, value=text)


def characters(data, charset="utf8mb4"):
    return value("Character", charset=charset, value=data)


def moment(**parts):
    return value("DateTime", **parts)


def record(operation="INSERT", columns=None, before=None, after=None, source="MySQL", **more):
    """A record of `columns` {name: dataTypeNumber}."""
    fields = None
    if columns is not None:
        fields = [{"name": n, "dataTypeNumber": t} for n, t in columns.items()]
    return {
        "version": 0,
        "id": 1709,
        "sourceTimestamp": 1696984408,
        "sourcePosition": "72469@78",
        "safeSourcePosition": "72347@78",
        "sourceTxid": "0",
        "source": {"sourceType": source, "version": "8.0.32"},
        "operation": operation,
        "objectName": "mydb.t1",
        "processTimestamps": None,
        "tags": {},
        "fields": fields,
        "beforeImages": before,
        "afterImages": after,
        "bornTimestamp": 1696984409,
        **more,
    }


def encode(message, writer=WRITER):
    stream = BytesIO()
    schemaless_writer(stream, writer, message)
    return stream.getvalue()


def decode_bytes(data, path=None, schemas=SCHEMAS):
    return dict(zip(_avro.COLUMNS, dts_avro.decode(data, path, schemas), strict=True))


def decode(message, **more):
    row = decode_bytes(encode(message), **more)
    assert (row["error_code"], row["error_detail"]) == (None, None)
    return row


def text_of(sent, number=0, source="MySQL", **more):
    return decode(record(columns={"c": number}, after=[sent], source=source, **more))["after"]["c"]


def refusal(message):
    row = decode_bytes(encode(message))
    assert {v for k, v in row.items() if not k.startswith("error_")} == {None}
    return row["error_code"], row["error_detail"]


# ---------------------------------------------------------------------------- the record


def test_insert_as_captured():
    sent = record(
        columns={"id": INT, "name": VARCHAR},
        after=[integer("7"), characters("Zoë".encode())],
        tags={"pk_uk_info": '{"PRIMARY":["id"],"uk_name":["name"]}', "thread_id": "5"},
    )
    assert decode(sent) == {
        "error_code": None,
        "error_detail": None,
        "shape": "dts",
        "operation": "INSERT",
        "source_type": "MySQL",
        "id": 1709,
        "source_timestamp": 1696984408,
        "born_timestamp": 1696984409,
        "source_position": "72469@78",
        "transaction_id": None,
        "transaction_flag": None,
        "database_name": "mydb",
        "schema_name": None,
        "table_name": "t1",
        "key_columns": ["id"],
        "column_types": {"id": "3", "name": "15"},
        "before": None,
        "before_is_complete": None,
        "after": {"id": "7", "name": "Zoë"},
        "after_is_complete": True,
        "ddl": None,
        "shard_total": None,
        "shard_index": None,
    }


def test_columns_are_those_of_each_record():
    a, b, text = integer("1"), integer("2"), characters(b"x")
    sent = [
        record(columns={"a": INT}, after=[a]),
        record(columns={"a": INT, "b": INT}, after=[a, b]),
        record(columns={"a": INT}, after=[b]),
        record(columns={"a": VARCHAR}, after=[text], objectName="mydb.t2"),
        record(columns={"a": INT}, after=[a]),
        record(columns={"b": INT}, after=[a], objectName="mydb.t2"),
        record(operation="DDL", after="drop table t1"),
        record(columns={"a": INT}, after=[b]),
    ]
    expected = [
        ({"a": "3"}, {"a": "1"}),
        ({"a": "3", "b": "3"}, {"a": "1", "b": "2"}),
        ({"a": "3"}, {"a": "2"}),
        ({"a": "15"}, {"a": "x"}),
        ({"a": "3"}, {"a": "1"}),
        ({"b": "3"}, {"b": "1"}),
        (None, None),
        ({"a": "3"}, {"a": "2"}),
    ]
    for _ in range(2):
        rows = [decode(message) for message in sent]
        assert [(row["column_types"], row["after"]) for row in rows] == expected


def test_columns_before_the_name_of_their_table(tmp_path):
    schema = json.loads(AVSC)
    schema[-1]["fields"].insert(0, schema[-1]["fields"].pop(11))
    schemas = user_schemas(tmp_path, json.dumps(schema))
    writer = parse_schema(schema)[-1]
    for table, column in (("mydb.t1", "a"), ("mydb.t2", "b"), ("mydb.t1", "a")):
        sent = record(columns={column: INT}, after=[integer("1")], objectName=table)
        row = decode_bytes(encode(sent, writer), path="avro/mine.avsc", schemas=schemas)
        assert (row["error_detail"], row["after"]) == (None, {column: "1"})


def test_a_column_named_twice_is_refused_each_time():
    sent = record(fields=[{"name": "a", "dataTypeNumber": INT}] * 2, after=[None, None])
    assert [refusal(sent)[0] for _ in range(2)] == ["wrong_type"] * 2


def test_wire_order_against_bytes_written_by_hand():
    # version, id, seconds, position, safe position, transaction, source (MySQL, "8"), HEARTBEAT,
    # no name, no times, no tags, no fields, no images
    by_hand = bytes([0, 2, 4, 6]) + b"1@2" + bytes([0, 2]) + b"0" + bytes([0, 2]) + b"8"
    by_hand += bytes([16, 0, 0, 0, 0, 0, 0])
    row = decode_bytes(by_hand)
    assert (row["error_code"], row["operation"], row["id"]) == (None, "HEARTBEAT", 1)
    assert (row["source_timestamp"], row["source_position"]) == (2, "1@2")


def test_ddl_of_a_database():
    sql = "create table t1 (id int)"
    row = decode(record("DDL", objectName="mydb", after=sql))
    assert row["ddl"] == sql
    assert (row["database_name"], row["table_name"]) == ("mydb", None)
    assert (row["after"], row["after_is_complete"], row["column_types"]) == (None, None, None)


@pytest.mark.parametrize("operation", ["BEGIN", "COMMIT", "HEARTBEAT", "NOOP", "CHECKPOINT"])
def test_records_without_rows(operation):
    row = decode(record(operation, objectName=None, sourceTxid="abc:1"))
    assert (row["operation"], row["transaction_id"]) == (operation, "abc:1")
    assert row["database_name"] is row["before"] is row["after"] is None


@pytest.mark.parametrize(
    ("object_name", "tags", "expected"),
    [
        ("db", {}, ("db", None, None)),
        ("db.t", {}, ("db", None, "t")),
        ("db.s.t", {}, ("db", "s", "t")),
        (r"d\u002Eb.t\u002E1", {}, ("d.b", None, "t.1")),
        ("db_0005.t_aeje_11", {"l_db_name": "db", "l_tb_name": "t"}, ("db", None, "t")),
    ],
)
def test_names(object_name, tags, expected):
    row = decode(record("BEGIN", objectName=object_name, tags=tags))
    assert (row["database_name"], row["schema_name"], row["table_name"]) == expected


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ('{"PRIMARY":["b","a"]}', ["b", "a"]),
        ('{"uk":["a"]}', None),
        ("{", None),
        ("[]", None),
        ('{"PRIMARY":[1]}', None),
        ('{"PRIMARY":"id"}', None),
        ('{"PRIMARY":["\\ud800"]}', None),
        ("[" * 100_000, None),
    ],
)
def test_key_columns(info, expected):
    assert decode(record(tags={"pk_uk_info": info}))["key_columns"] == expected


def test_born_timestamp_may_be_missing_or_zero():
    message = record()
    del message["bornTimestamp"]
    row = decode_bytes(encode(message, OLD_WRITER))
    assert (row["error_code"], row["born_timestamp"]) == (None, None)
    assert decode(record(bornTimestamp=0))["born_timestamp"] is None


# ---------------------------------------------------------------------------- images


def test_null_is_a_value_and_none_is_absence():
    columns = {"a": INT, "b": INT, "c": INT, "d": INT}
    row = decode(record(columns=columns, after=[integer("1"), None, NULL, NONE]))
    assert row["after"] == {"a": "1", "b": None, "c": None}
    assert row["after_is_complete"] is False


def test_missing_tail_is_absence():
    row = decode(record("DELETE", {"a": INT, "b": INT}, before=[integer("1")]))
    assert (row["before"], row["before_is_complete"]) == ({"a": "1"}, False)
    assert (row["after"], row["after_is_complete"]) == (None, None)


def test_update_completes_after_from_a_complete_before():
    columns = {"a": INT, "b": INT, "c": INT}
    before = [integer("1"), integer("2"), None]
    row = decode(record("UPDATE", columns, before, [NONE, integer("3")]))
    assert row["after"] == {"a": "1", "b": "3", "c": None}
    assert list(row["after"]) == ["a", "b", "c"]
    assert row["after_is_complete"] is True


def test_update_stays_partial_when_before_is():
    columns = {"a": INT, "b": INT}
    row = decode(record("UPDATE", columns, [integer("1"), NONE], [NONE, integer("3")]))
    assert (row["before"], row["before_is_complete"]) == ({"a": "1"}, False)
    assert (row["after"], row["after_is_complete"]) == ({"b": "3"}, False)


def test_an_update_that_changed_nothing_has_the_row_as_it_was():
    columns = {"id": INT, "name": INT}
    row = decode(record("UPDATE", columns, [integer("1"), NONE], [NONE, NONE]))
    assert (row["before"], row["before_is_complete"]) == ({"id": "1"}, False)
    assert (row["after"], row["after_is_complete"]) == ({"id": "1"}, False)


@pytest.mark.parametrize(
    ("message", "word"),
    [
        (record(columns={"a": INT}, after=[integer("1"), integer("2")]), "2 values for 1 fields"),
        (record(after=[integer("1")]), "without fields"),
        (record(columns={"a": INT}, after="a row"), "is text"),
        (record(columns={"a": INT}, after=[integer("seven")]), "'a'"),
        (record(objectName="a.b.c.d"), "4 parts"),
        (
            record(fields=[{"name": "a", "dataTypeNumber": INT}] * 2, after=[None, None]),
            "more than once",
        ),
        (record(columns={"a": DATE}, after=[moment()]), "without any part"),
        (record(columns={"a": DATE}, after=[moment(year=1, month=13, day=1)]), "month 13"),
        (record(columns={"a": TIME}, after=[moment(hour=-1, minute=1)]), "both signs"),
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
        ("0", "0"),
        ("-0", "0"),
        ("18446744073709551615", "18446744073709551615"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("+7", "7"),
        ("-007", "-7"),
        ("9" * 6000, "9" * 6000),
    ],
)
def test_integer(sent, expected):
    assert text_of(integer(sent)) == expected


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("123.4500", "123.4500"),
        ("-0.10", "-0.10"),
        (".5", "0.5"),
        ("1E+3", "1000"),
        ("1.50E-3", "0.00150"),
        ("-12.345e2", "-1234.5"),
        ("12.3450e2", "1234.50"),
        ("12345678901234567890123456789012345678901234567890.1",) * 2,
        ("1E+99999999", "1E+99999999"),
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
        ("~", "~"),
        ("NOT_ASSIGNED", "NOT_ASSIGNED"),
    ],
)
def test_decimal(sent, expected):
    assert text_of(value("Decimal", value=sent, precision=9, scale=2)) == expected


@pytest.mark.parametrize(
    ("sent", "number", "expected"),
    [
        (0.1, 5, "0.1"),
        (5.0, 5, "5.0"),
        (-0.0, 5, "-0.0"),
        (1e16, 5, "10000000000000000.0"),
        (1.5e-7, 5, "0.00000015"),
        (float("nan"), 5, "NaN"),
        (float("inf"), 5, "Infinity"),
        (float("-inf"), 5, "-Infinity"),
        # 0.1 as a four-byte float, widened
        (0.10000000149011612, FLOAT, "0.1"),
        (0.10000000149011612, 5, "0.10000000149011612"),
        (16777216.0, FLOAT, "16777216.0"),
        # no four-byte float
        (0.1, FLOAT, "0.1"),
        (0.30000000000000004, FLOAT, "0.30000000000000004"),
        (1e300, FLOAT, "1" + "0" * 300 + ".0"),
    ],
)
def test_float(sent, number, expected):
    assert text_of(value("Float", value=sent, precision=12, scale=0), number) == expected


@pytest.mark.parametrize(
    ("charset", "data", "expected"),
    [
        ("utf8", "é漢".encode(), "é漢"),
        ("utf8mb4", b"\xf0\x9f\x98\x80", "😀"),
        ("latin1", b"\x80\xe9", "€é"),
        ("latin1", b"\x81\x8d\x8f\x90\x9d", "\x81\x8d\x8f\x90\x9d"),
        ("binary", b"\x80\xe9", "80e9"),
        ("gbk", b"\xd6\xd0\xb9\xfa", "中国"),
        ("gb2312", b"\xd6\xd0", "中"),
        ("gb18030", b"\x81\x30\x81\x30", "\x80"),
        ("big5", b"\xa4\xa4", "中"),
        ("sjis", b"\x83\x41", "ア"),
        ("cp932", b"\x87\x40", "①"),
        ("ujis", b"\xa5\xa2", "ア"),
        ("euckr", b"\xb0\xa1", "가"),
        ("ucs2", b"\x4e\x2d", "中"),
        ("utf16", b"\x4e\x2d\xd8\x3d\xde\x00", "中😀"),
        ("utf16le", b"\x2d\x4e", "中"),
        ("utf32", b"\x00\x01\xf6\x00", "😀"),
        ("koi8r", b"\xc1", "\u0430"),
        ("koi8u", b"\xa4", "є"),
        ("cp1251", b"\xe0", "\u0430"),
        ("latin2", b"\xb1", "ą"),
        ("latin5", b"\xfd", "\u0131"),
        ("latin7", b"\xe0", "ą"),
        ("greek", b"\xe1", "\u03b1"),
        ("hebrew", b"\xe0", "א"),
        ("tis620", b"\xa1", "ก"),
        ("cp850", b"\x82", "é"),
        ("UTF-8", "é".encode(), "é"),
        ("ascii", b"", ""),
        ("", b"plain", "706c61696e"),
        ("big5", b"\xa7\xbb\xf9\xd6", "宏碁"),
        (
            "eucjpms",
            b"a\xad\xa1\xad\xea\x8e\xb1\xb0\xa1\xa1\xc1",
            "a\u2460\u3231\uff71\u4e9c\uff5e",
        ),
        (
            "eucjpms",
            b"\x8f\xf3\xf3\x8f\xf4\xab\x8f\xf4\xfe\x8f\xb0\xa1",
            "\u2170\u3231\u9ed1\u4e02",
        ),
        ("eucjpms", b"\xf5\xa1\x8f\xf5\xa1", "\ue000\ue3ac"),
        ("ujis", b"\xa1\xc1", "〜"),
        ("armscii8", b"\xb2\xb3\xfc\xfd\xfe", "\u0531\u0561\u0556\u0586\u2019"),
        ("geostd8", b"\x80\xc0\xe5\xfd", "€აჵ№"),
        ("keybcs2", b"\x80\xab\xad\xe1", "ČŔ¡ß"),
        ("dec8", b"\xa8\xd7\xe9\xfd", "¤Œéÿ"),
        ("swe7", b"@[\\]^`{|}~", "ÉÄÖÅÜéäöåü"),
        ("macroman", b"\xbd\xdb", "\u03a9€"),
        ("macce", b"\xff", "ˇ"),
        ("hp8", b"\xa8\xaf\xee", "\u00b4\u20a4\u0178"),
        ("koi8u", b"\x95", "•"),
        ("greek", b"\xa1\xa2", "\u02bd\u02bc"),
        ("hebrew", b"\xaf", "‾"),
        ("cp1250", b"\x8a\xe8", "Šč"),
        ("cp1256", b"\xc8", "\u0628"),
        ("cp1257", b"\xe0", "ą"),
        ("cp852", b"\x9f", "č"),
        ("cp866", b"\xa0", "\u0430"),
    ],
)
def test_characters(charset, data, expected):
    assert text_of(characters(data, charset)) == expected


def test_characters_are_never_replaced():
    code, detail = refusal(record(columns={"c": 15}, after=[characters(b"a\xff", "utf8mb4")]))
    assert code == "not_text"
    assert "'c'" in detail
    assert "utf8mb4" in detail
    assert refusal(record(columns={"c": 15}, after=[characters(b"\x80", "ascii")]))[0] == "not_text"
    for charset, data in [
        ("swe7", b"\x7f"),
        ("dec8", b"\xd0"),
        ("geostd8", b"\xe6"),
        ("eucjpms", b"\xad"),
        ("eucjpms", b"\x8f\xf3"),
        ("eucjpms", b"\x80\xa1"),
    ]:
        refused = refusal(record(columns={"c": 15}, after=[characters(data, charset)]))
        assert refused[0] == "not_text"
    lone_surrogate = characters(b"\xd8\x3d", "utf16")
    assert refusal(record(columns={"c": 15}, after=[lone_surrogate]))[0] == "not_text"


@pytest.mark.parametrize("charset", ["klingon", "zlib", "hex", "unicode_escape", "a\0b", "é"])
def test_unknown_charset(charset):
    code, detail = refusal(record(columns={"c": 15}, after=[characters(b"", charset)]))
    assert code == "unknown_charset"
    assert "'c'" in detail


@pytest.mark.parametrize(
    ("seconds", "micros", "expected"),
    [
        (1696984408, 0, "2023-10-11 00:33:28"),
        (1696984408, 123000, "2023-10-11 00:33:28.123"),
        (1, 1, "1970-01-01 00:00:01.000001"),
        (-1, 500000, "1969-12-31 23:59:59.5"),
        (951782400, 0, "2000-02-29 00:00:00"),
        (253402300800, 0, "10000-01-01 00:00:00"),
    ],
)
def test_timestamp(seconds, micros, expected):
    assert text_of(value("Timestamp", timestamp=seconds, millis=micros), 7) == expected


MIDNIGHT = {"hour": 0, "minute": 0, "second": 0}


@pytest.mark.parametrize(
    ("number", "parts", "expected"),
    [
        (DATE, {"year": 2023, "month": 1, "day": 2}, "2023-01-02"),
        (DATE, {"year": 2023, "month": 1, "day": 2, **MIDNIGHT}, "2023-01-02"),
        (DATE, {"year": 0, "month": 0, "day": 0}, "0000-00-00"),
        (DATETIME, {"year": 0, "month": 0, "day": 0, **MIDNIGHT}, "0000-00-00 00:00:00"),
        (DATETIME, {"year": 2023, "month": 1, "day": 2}, "2023-01-02 00:00:00"),
        (
            DATETIME,
            {"year": 9999, "month": 12, "day": 31, "hour": 23, "minute": 59, "second": 59}
            | {"millis": 999990},
            "9999-12-31 23:59:59.99999",
        ),
        (TIME, {"hour": 1, "minute": 2, "second": 3, "millis": 0}, "01:02:03"),
        (TIME, {"hour": -838, "minute": -59, "second": -59, "millis": -500}, "-838:59:59.0005"),
        (TIME2, {"hour": 0, "minute": 0, "second": -1}, "-00:00:01"),
        (TIME2, {"year": 0, "month": 0, "day": 0, **MIDNIGHT}, "00:00:00"),
        (YEAR, {"year": 2023}, "2023"),
        (YEAR, {"year": 0}, "0000"),
    ],
)
def test_datetime_of_mysql(number, parts, expected):
    assert text_of(moment(**parts), number) == expected


@pytest.mark.parametrize(
    ("source", "position", "expected"),
    [
        ("MySQL", "1@2", "00:00:00.001"),
        ("PostgreSQL", "1@2", "00:00:00.001"),
        ("PostgreSQL", "1<->2", "00:00:00.000001"),
        ("Oracle", "1", "00:00:00.000001"),
    ],
)
def test_unit_of_millis_depends_on_the_source(source, position, expected):
    sent = moment(**MIDNIGHT, millis=1000)
    assert text_of(sent, 0, source, sourcePosition=position) == expected


def test_datetime_of_oracle():
    assert text_of(moment(year=3, month=4), 182, "Oracle") == "3-04"
    assert text_of(moment(day=5, **MIDNIGHT), 183, "Oracle") == "5 00:00:00"
    ancient = moment(year=-44, month=3, day=15, **MIDNIGHT)
    assert text_of(ancient, 12, "Oracle") == "-0044-03-15 00:00:00"


def test_timestamp_with_time_zone():
    wall = {"year": 2023, "month": 1, "day": 2, "hour": 3, "minute": 4, "second": 5}
    sent = value("TimestampWithTimeZone", value={**wall, "millis": 6}, timezone="Asia/Shanghai")
    assert text_of(sent, 181, "Oracle") == "2023-01-02 03:04:05.000000006 Asia/Shanghai"


@pytest.mark.parametrize(
    ("kind", "type_", "sent", "number", "source", "expected"),
    [
        ("BinaryGeometry", "GEOMETRY", b"\x01\xab", 255, "MySQL", "01ab"),
        ("TextGeometry", "POINT", "POINT(1 2)", 0, "PostgreSQL", "POINT(1 2)"),
        ("BinaryObject", "BLOB", b"\xde\xad", 252, "MySQL", "dead"),
        ("BinaryObject", "BLOB", b"", 252, "MySQL", ""),
        ("BinaryObject", "BFILE", b"\x01", 114, "Oracle", "01"),
        ("BinaryObject", "BYTEA", b"\x01", 17, "PostgreSQL", "01"),
        ("BinaryObject", "XTYPE", b'{"a": 1}', 3802, "PostgreSQL", '{"a": 1}'),
        ("BinaryObject", "json", b"[1]", 0, "PostgreSQL", "[1]"),
        ("TextObject", "ENUM", "small", 247, "MySQL", "small"),
        ("TextObject", "JSON", '{"a": 1.0}', 245, "MySQL", '{"a": 1.0}'),
        ("TextObject", "XTYPE", "t", 16, "PostgreSQL", "1"),
        ("TextObject", "BOOL", "false", 0, "PostgreSQL", "0"),
        ("TextObject", "TEXT", "t", 25, "PostgreSQL", "t"),
    ],
)
def test_objects(kind, type_, sent, number, source, expected):
    assert text_of(value(kind, type=type_, value=sent), number, source) == expected


# ---------------------------------------------------------------------------- broken bytes

EVERYTHING = encode(
    record(
        "UPDATE",
        {"a": INT, "b": VARCHAR, "c": 246, "d": 5, "e": 7, "f": 12, "g": 252, "h": 245},
        before=[integer("1"), characters(b"x"), NONE, NULL, None],
        after=[
            integer("2"),
            characters("é".encode()),
            value("Decimal", value="1.0", precision=2, scale=1),
            value("Float", value=1.5, precision=0, scale=0),
            value("Timestamp", timestamp=1, millis=0),
            moment(year=2023, month=1, day=2, **MIDNIGHT),
            value("BinaryObject", type="BLOB", value=b"\0"),
            value("TextObject", type="JSON", value="{}"),
        ],
        tags={"pk_uk_info": '{"PRIMARY":["a"]}'},
    )
)
BORN_BYTES = 5  # of 1696984409 as a varint


def test_truncation_at_every_byte():
    for size in range(1, len(EVERYTHING)):
        row = decode_bytes(EVERYTHING[:size])
        # Cut exactly before bornTimestamp it is a whole record of an older producer.
        whole = size == len(EVERYTHING) - BORN_BYTES
        assert row["error_code"] == (None if whole else "not_avro")
        assert whole or "byte" in row["error_detail"]


def test_detail_says_where():
    detail = decode_bytes(EVERYTHING[:3])["error_detail"]
    assert detail == "sourceTimestamp, from byte 3 of 3, cannot be read: the bytes end inside it"
    row = decode_bytes(EVERYTHING + b"abc")
    assert row["error_code"] == "not_avro"
    assert row["error_detail"] == f"3 of {len(EVERYTHING) + 3} bytes are left over after the record"


@pytest.mark.parametrize("index", [1, 3, 0x7F])
def test_negative_index_of_an_enum_is_not_its_last_symbol(index):
    start = encode(record("BEGIN", objectName=None))
    at = start.index(b"8.0.32") + len("8.0.32")
    assert decode_bytes(start)["operation"] == "BEGIN"
    row = decode_bytes(start[:at] + bytes([index]) + start[at + 1 :])
    assert row["error_code"] == "not_avro"
    assert "operation" in row["error_detail"]


def test_a_registry_header_is_named():
    data = encode(record("INSERT", {"c": INT}, after=[integer("5")]))
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
        (b"[1, 2, 3]", "not_avro"),
        (b"\xff" * 100, "not_avro"),
    ],
)
def test_no_record(data, code):
    row = decode_bytes(data)
    assert row["error_code"] == code
    assert row["error_detail"]


@given(st.binary(max_size=300))
@settings(max_examples=500, deadline=None)
def test_random_bytes_never_raise(data):
    _avro.to_arrow([dts_avro.decode(data, None, SCHEMAS)])


@given(st.lists(st.tuples(st.integers(0, len(EVERYTHING) - 1), st.integers(1, 255)), max_size=4))
@settings(max_examples=1000, deadline=None)
def test_flipped_bits_never_raise(flips):
    data = bytearray(EVERYTHING)
    for at, mask in flips:
        data[at] ^= mask
    _avro.to_arrow([dts_avro.decode(bytes(data), None, SCHEMAS)])


# ---------------------------------------------------------------------------- schemas


def user_schemas(tmp_path, text):
    (tmp_path / "avro").mkdir()
    (tmp_path / "avro" / "mine.avsc").write_text(text)
    return dts_avro.load_schemas(tmp_path)


def test_namespace_of_the_schema_does_not_matter(tmp_path):
    schemas = user_schemas(tmp_path, AVSC.replace(NAMESPACE[:-1], "com.example.drs"))
    row = decode_bytes(EVERYTHING, "avro/mine.avsc", schemas)
    assert row == decode_bytes(EVERYTHING)
    assert row["error_code"] is None


def test_missing_schema_is_named_with_those_that_exist():
    row = decode_bytes(EVERYTHING, "avro/none.avsc")
    assert row["error_code"] == "unknown_schema"
    assert "avro/none.avsc" in row["error_detail"]
    assert "avro/dts_avro.avsc" in row["error_detail"]


def nested_in_itself(schema):
    schema[-1]["fields"].append({"name": "more", "type": ["null", "Record"]})


def items_without_bytes(schema):
    schema[-1]["fields"].append({"name": "more", "type": {"type": "array", "items": "null"}})


def no_operation(schema):
    del schema[-1]["fields"][7]


def number_as_position(schema):
    schema[-1]["fields"][3]["type"] = "long"


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (nested_in_itself, "contains itself"),
        (items_without_bytes, "no bytes"),
        (no_operation, "operation"),
        (number_as_position, "sourcePosition"),
    ],
)
def test_schemas_that_cannot_serve(tmp_path, change, word):
    schema = json.loads(AVSC)
    change(schema)
    schemas = user_schemas(tmp_path, json.dumps(schema))
    row = decode_bytes(EVERYTHING, "avro/mine.avsc", schemas)
    assert row["error_code"] == "unknown_schema"
    assert word in row["error_detail"]


def test_file_that_is_no_schema(tmp_path):
    schemas = user_schemas(tmp_path, "{")
    assert decode_bytes(b"\0", "avro/mine.avsc", schemas)["error_code"] == "unknown_schema"


# ---------------------------------------------------------------------------- Arrow


def test_arrow_keeps_null_absent_and_empty_apart():
    messages = [
        record(columns={"a": INT, "b": INT}, after=[None, NONE]),
        record(columns={}, after=[]),
        record("HEARTBEAT", objectName=None),
    ]
    rows = [dts_avro.decode(encode(m), None, SCHEMAS) for m in messages]
    column = _avro.to_arrow([*rows, dts_avro.decode(b"", None, SCHEMAS)])
    assert column.field("after").to_pylist() == [[("a", None)], [], None, None]
    assert column.field("error_code").to_pylist() == [None, None, None, "empty_value"]
    assert len(_avro.to_arrow([])) == 0
