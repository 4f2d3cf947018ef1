"""A table with a column of every type of MySQL, and what producers write that read its log.

The values are MySQL's own texts: times with the digits that the column keeps, a TIMESTAMP in UTC,
bytes in hexadecimal digits, members of ENUM and SET by their labels.
"""

import json
from base64 import b64encode
from datetime import datetime, timedelta
from decimal import Decimal

from corpora.base import Column, cell, latin, text

LABELS = ("x", "b'c", "y,z")
ENUM, SET = (f"{kind}('x','b''c','{last}')" for kind, last in (("enum", "y,z"), ("set", "z")))
SET_LABELS = ("x", "b'c", "z")
# SRID 0, then POINT(1 2) and LINESTRING(0 0, 1 1) in WKB of little-endian numbers.
POINT = "00000000" + "0101000000000000000000f03f0000000000000040"
LINE = "00000000" + "0102000000020000000000000000000000" + "0" * 16 + "000000000000f03f" * 2
WKT = {POINT: "POINT (1 2)", LINE: "LINESTRING (0 0, 1 1)"}

# Name, type, kind and two values of each column.
TYPES = (
    ("a_bool", "tinyint(1)", "number", "1", "0"),
    ("a_tinyint", "tinyint(4)", "number", "-128", "127"),
    ("a_tinyint_u", "tinyint(3) unsigned", "number", "255", "0"),
    ("a_smallint", "smallint(6)", "number", "-32768", "32767"),
    ("a_smallint_u", "smallint(5) unsigned", "number", "65535", "1"),
    ("a_mediumint", "mediumint(9)", "number", "-8388608", "8388607"),
    ("a_mediumint_u", "mediumint(8) unsigned", "number", "16777215", "1"),
    ("an_int", "int(11)", "number", "-2147483648", "2147483647"),
    ("an_int_u", "int(10) unsigned", "number", "4294967295", "0"),
    ("a_bigint", "bigint(20)", "number", "-9223372036854775808", "9223372036854775807"),
    ("a_bigint_u", "bigint(20) unsigned", "number", "18446744073709551615", "9223372036854775808"),
    ("a_decimal", "decimal(38,18)", "decimal", "-12345678901234567890.123456789012345678", "0.10"),
    ("a_wide_decimal", "decimal(65,30)", "decimal", "9" * 35 + "." + "9" * 30, "-1.50"),
    ("a_whole_decimal", "decimal(10,0)", "decimal", "1234", "-9999999999"),
    ("a_float", "float", "float", "3.4028235E38", "-1.2E-38"),
    ("a_double", "double", "float", "1.7976931348623157E308", "0.1"),
    ("a_bit", "bit(1)", "bit", "1", "0"),
    ("a_wide_bit", "bit(64)", "bit", "18446744073709551615", "256"),
    ("a_date", "date", "date", "0000-00-00", "1000-01-01"),
    ("a_time", "time", "time", "-838:59:59", "838:59:59"),
    ("a_fine_time", "time(6)", "time", "-00:00:00.000100", "12:00:00.500000"),
    ("a_datetime", "datetime", "datetime", "0000-00-00 00:00:00", "9999-12-31 23:59:59"),
    (
        "a_fine_datetime",
        "datetime(6)",
        "datetime",
        "2026-11-05 12:00:00.120000",
        "1000-01-01 00:00:00.000001",
    ),
    ("a_timestamp", "timestamp", "timestamp", "1970-01-01 00:00:01", "2038-01-19 03:14:07"),
    (
        "a_fine_timestamp",
        "timestamp(3)",
        "timestamp",
        "2026-11-05 16:30:00.120",
        "2026-11-05 16:30:00.000",
    ),
    ("a_zero_timestamp", "timestamp", "timestamp", "0000-00-00 00:00:00", "2026-02-28 16:00:00"),
    ("a_year", "year(4)", "year", "2155", "1901"),
    ("a_char", "char(4)", "text", "a", ""),
    ("a_varchar", "varchar(40)", "text", 'ü "q" \\ \t \U0001f600 é', "null"),
    ("a_tinytext", "tinytext", "text", "<a href='x'>&amp;", "\u2028"),
    ("a_text", "text", "text", "line\r\nbreak", "0"),
    ("a_mediumtext", "mediumtext", "text", "[1, 2]", "c29tZQ=="),
    ("a_longtext", "longtext", "text", "{}", "2026-11-05T00:00:00Z"),
    ("an_enum", ENUM, "enum", "b'c", "y,z"),
    ("a_set", SET, "set", "x,z", ""),
    ("a_json", "json", "json", '{"a":[1,1.50,"x",null],"b":{"c":true}}', "[]"),
    ("a_binary", "binary(4)", "bytes", "00ff8000", "61000000"),
    ("a_varbinary", "varbinary(9)", "bytes", "", "e4b8ad"),
    ("a_tinyblob", "tinyblob", "bytes", "0d0a", "22"),
    ("a_blob", "blob", "bytes", "deadbeef", "5c"),
    ("a_mediumblob", "mediumblob", "bytes", "7f80", "00"),
    ("a_longblob", "longblob", "bytes", "c3bc", "ff"),
    ("a_geometry", "geometry", "geometry", POINT, LINE),
    ("a_point", "point", "geometry", POINT, POINT),
)


def trimmed(clock):
    """A time as silver holds it: without the zeros that end its fraction."""
    return clock.rstrip("0").rstrip(".") if "." in clock else clock


def shifted(clock, hours):
    """The clock of a zone that is some hours ahead, of a TIMESTAMP in UTC."""
    if clock.startswith("0000"):
        return clock
    moment = datetime.fromisoformat(clock[:19]) + timedelta(hours=hours)
    return moment.isoformat(sep=" ") + clock[19:]


def ordinal(kind, labels):
    """The number that MySQL keeps of a member of ENUM, or of the members of SET."""
    if kind == "enum":
        return str(LABELS.index(labels) + 1)
    return str(sum(1 << SET_LABELS.index(label) for label in labels.split(",") if label))


def columns(cell_of, left_out=(), types=lambda mysql_type: mysql_type):
    """The columns as a producer writes them: `cell_of(kind, value)` is a cell."""
    return [
        Column(name, types(kind), tuple(cell(cell_of(kind_of, value)) for value in values))
        for name, kind, kind_of, *values in TYPES
        if kind_of not in left_out
    ]


# Canal, and those that write as it does.


def canal_cell(kind, value):
    """alibaba/canal, LogEventConvert: texts; bytes as ISO-8859-1, ordinals, the clock of a zone."""
    if kind in ("bytes", "geometry"):
        return latin(value)
    if kind in ("enum", "set"):
        return text(ordinal(kind, value), value)
    if kind == "timestamp":
        return text(shifted(value, 8), trimmed(value))
    return text(value, trimmed(value) if kind in ("time", "datetime") else value)


def tencent_cell(kind, value):
    """Tencent Cloud's DTS: bytes in hexadecimal digits, a TIMESTAMP of zone +00:00."""
    if kind in ("bytes", "geometry"):
        return text(value.upper(), value)
    if kind == "timestamp":
        return text(f"{value} +00:00", trimmed(value))
    if kind in ("time", "datetime"):
        return text(value, trimmed(value))
    return text(value)


def oms_cell(kind, value):
    """OceanBase's OMS: numbers bare, Base64, a TIMESTAMP as seconds since 1970."""
    if kind == "bytes":
        return text(b64encode(bytes.fromhex(value)).decode(), value)
    if kind == "bit":
        number = int(value)
        sent = number.to_bytes(max(1, -(-number.bit_length() // 8)), "big")
        return text(b64encode(sent).decode(), value)
    if kind == "timestamp" and not value.startswith("0000"):
        whole, _, fraction = value.partition(".")
        seconds = int((datetime.fromisoformat(whole) - datetime(1970, 1, 1)).total_seconds())
        return text(trimmed(f"{seconds}.{fraction}"), trimmed(value))
    if kind in ("number", "decimal", "float", "year"):
        return value
    return text(value, trimmed(value) if kind in ("time", "datetime", "timestamp") else value)


def tidb_cell(kind, value):
    """pingcap/tiflow, canal_entry.go: the same, but no exponents."""
    return text(f"{Decimal(value):f}") if kind == "float" else canal_cell(kind, value)


def simple_cell(kind, value):
    """pingcap/tiflow, simple/message.go: no types; Base64, numbers of members, zones as objects."""
    if kind == "bytes":
        return text(b64encode(bytes.fromhex(value)).decode())
    if kind in ("enum", "set"):
        return text(ordinal(kind, value))
    if kind == "timestamp":
        sent = {"location": "Asia/Shanghai", "value": shifted(value, 8)}
        return json.dumps(sent, separators=(",", ":")), trimmed(value)
    if kind == "text":
        return json.dumps(value).replace("<", "\\u003c").replace("&", "\\u0026"), value
    return text(f"{Decimal(value):f}") if kind == "float" else text(value)


def maxwell_cell(kind, value):
    """zendesk/maxwell, the classes of columndef: numbers bare, SET a list, geometry as WKT."""
    if kind == "bytes":
        return text(b64encode(bytes.fromhex(value)).decode())
    if kind == "decimal":
        return str(Decimal(value))
    if kind in ("number", "float", "bit", "year"):
        return value
    if kind == "set":
        return json.dumps([label for label in value.split(",") if label], separators=(",", ":"))
    if kind == "json":
        return value, value
    return text(WKT[value]) if kind == "geometry" else text(value)
