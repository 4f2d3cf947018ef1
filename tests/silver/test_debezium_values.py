"""Values of Debezium as canonical text, worked out by hand from the pages of its connectors."""

import base64
import importlib
import re
from datetime import date, timedelta
from decimal import Decimal

import pytest
from conftest import PROJECT
from hypothesis import given
from hypothesis import strategies as st

from cdc_lakehouse.runtime.functions import open_package

open_package(PROJECT)
values = importlib.import_module("udfs._debezium_values")
Number = importlib.import_module("udfs._json_values").Number
Rows = importlib.import_module("udfs._debezium_rows").Rows

TIME, DATA = "io.debezium.time.", "io.debezium.data."
DECIMAL = "org.apache.kafka.connect.data.Decimal"
WKB = "AQEAAAAAAAAAAADwPwAAAAAAAPA/"
POINT = "0101000000000000000000f03f000000000000f03f"


@pytest.mark.parametrize(
    ("kind", "sent", "text"),
    [
        ("boolean", True, "1"),
        ("boolean", False, "0"),
        ("boolean", "true", "1"),
        ("boolean", 2, 2),
        ("int64", -9223372036854775808, -9223372036854775808),
        ("double", Number("1.5"), "1.5"),
        ("string", "true", "true"),
        ("bytes", "AP8=", "00ff"),
        ("bytes", "", ""),
        (f"{DECIMAL}(5,2)", "MDk=", "123.45"),
        (f"{DECIMAL}(5,2)", "nA==", "-1.00"),
        (f"{DECIMAL}(5,2)", "AA==", "0.00"),
        (f"{DECIMAL}(5,2)", "Bw==", "0.07"),
        (f"{DECIMAL}(5,0)", "MDk=", "12345"),
        (f"{DECIMAL}(5,-2)", "AQ==", "100"),
        (f"{DECIMAL}(,2)", "MDk=", "123.45"),
        # A number is the number, however much its characters look like Base64.
        (f"{DECIMAL}(10,0)", 1234, "1234"),
        (f"{DECIMAL}(10,2)", 1234, "1234.00"),
        (f"{DECIMAL}(10,2)", Number("10.5"), "10.50"),
        (f"{DECIMAL}(10,2)", Number("-0.555"), "-0.555"),
        (f"{DECIMAL}(5,-3)", Number("1E+3"), "1000"),
        (f"{DECIMAL}(,)", "MDk=", 'not Decimal: "MDk="'),
        (f"{DATA}VariableScaleDecimal", {"scale": 3, "value": "MDk="}, "12.345"),
        (f"{DATA}VariableScaleDecimal", Number("12.345"), "12.345"),
        (f"{DATA}Bits", "Bg==", "6"),
        (f"{DATA}Bits", "AYA=", "32769"),
        (f"{DATA}Enum", "small", "small"),
        (f"{DATA}EnumSet", "a,b", "a,b"),
        (f"{DATA}Json", '{"a":true}', '{"a":true}'),
        (f"{DATA}geometry.Point", {"x": 1.0, "y": 1.0, "wkb": WKB, "srid": None}, POINT),
        (f"{DATA}geometry.Point", {"x": Number("1.0"), "y": 1, "wkb": None}, POINT),
        (f"{TIME}Date", 17702, "2018-06-20"),
        (f"{TIME}Date", -1, "1969-12-31"),
        (f"{TIME}Date", "17702", "2018-06-20"),
        # Years of which neither Python nor a cast knows: as the other formats write them.
        (f"{TIME}Date", 2932897, "10000-01-01"),
        (f"{TIME}Date", -719529, "-0001-12-31"),
        (f"{TIME}Date", 2147483647, "5881580-07-11"),
        (f"{TIME}Date", -2147483648, "-5877641-06-23"),
        (f"{TIME}Time", 46800000, "13:00:00"),
        (f"{TIME}MicroTime", -3661000001, "-01:01:01.000001"),
        (f"{TIME}MicroTime", 3020399000000, "838:59:59"),
        (f"{TIME}NanoTime", 1000000, "00:00:00.001"),
        (f"{TIME}Timestamp", 1529507596945, "2018-06-20 15:13:16.945"),
        (f"{TIME}Timestamp", 253402300800000, "10000-01-01 00:00:00"),
        (f"{TIME}Timestamp", 9223372036825200, "infinity"),
        (f"{TIME}MicroTimestamp", 1529507596945104, "2018-06-20 15:13:16.945104"),
        (f"{TIME}MicroTimestamp", 9223372036825200000, "infinity"),
        (f"{TIME}MicroTimestamp", -9223372036832400000, "-infinity"),
        (f"{TIME}MicroTimestamp", 9223372036854775807, "294247-01-10 04:00:54.775807"),
        (f"{TIME}MicroTimestamp", -62198755200000000, "-0001-01-01 00:00:00"),
        (f"{TIME}NanoTimestamp", 1529507596945104001, "2018-06-20 15:13:16.945104001"),
        (f"{TIME}NanoTimestamp", 9223372036854775807, "infinity"),
        (f"{TIME}MicroTimestamp", -1, "1969-12-31 23:59:59.999999"),
        (f"{TIME}MicroTimestamp", 1529507596000000, "2018-06-20 15:13:16"),
        ("org.apache.kafka.connect.data.Timestamp", 1000, "1970-01-01 00:00:01"),
        (f"{TIME}ZonedTimestamp", "2018-06-20T13:37:03Z", "2018-06-20 13:37:03"),
        (f"{TIME}ZonedTimestamp", "2018-06-20T13:37:03.1200Z", "2018-06-20 13:37:03.12"),
        (f"{TIME}ZonedTimestamp", "2018-06-20T13:37:03+02:00", "2018-06-20 13:37:03 +02:00"),
        (f"{TIME}ZonedTimestamp", "+10000-01-01T00:00:00Z", "10000-01-01 00:00:00"),
        (f"{TIME}ZonedTimestamp", "-0043-03-15T10:00:00Z", "-0043-03-15 10:00:00"),
        (f"{TIME}ZonedTimestamp", "infinity", "infinity"),
        (f"{TIME}IsoTimestamp", "2018-06-20T13:37:03.50Z", "2018-06-20 13:37:03.5"),
        (f"{TIME}IsoDate", "2018-06-20Z", "2018-06-20"),
        (f"{TIME}IsoTime", "13:37:03.500Z", "13:37:03.5"),
        (f"{TIME}StructuredDate", {"year": -44, "month": 3, "day": 15}, "-0044-03-15"),
        (f"{TIME}StructuredDate", {"specialValue": "NEGATIVE_INFINITY"}, "-infinity"),
        (f"{TIME}ZonedTime", "13:37:03Z", "13:37:03Z"),
        (f"{TIME}Interval", "P1Y2M3DT4H5M6.7S", "P1Y2M3DT4H5M6.7S"),
        # What is not of its type becomes a text that no cast takes; a text for a time stays.
        (f"{TIME}Date", "soon", "soon"),
        (f"{TIME}Date", Number("17702.5"), "not Date: 17702.5"),
        (f"{TIME}MicroTimestamp", True, "not MicroTimestamp: true"),
        (f"{TIME}ZonedTimestamp", 17702, "not ZonedTimestamp: 17702"),
        (f"{TIME}StructuredDate", "2018", "2018"),
        ("bytes", 1234, "not bytes: 1234"),
        ("bytes", "abc", 'not bytes: "abc"'),
        (f"{DATA}Bits", 6, "not Bits: 6"),
        (f"{DECIMAL}(5,2)", True, "not Decimal: true"),
        (f"{DECIMAL}(5,2)", "12", 'not Decimal: "12"'),
        (f"{DATA}VariableScaleDecimal", "7", 'not VariableScaleDecimal: "7"'),
        (f"{DATA}geometry.Point", 7, "not Point: 7"),
        ("", "MDk=", "MDk="),
        ("bytes", None, None),
    ],
)
def test_a_value_has_the_text_of_its_type(kind, sent, text):
    assert values.text_of(values.canonical(sent, kind)) == values.text_of(text)


@given(st.integers(-(10**70), 10**70), st.integers(0, 60))
def test_a_decimal_keeps_every_digit(number, scale):
    sent = number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
    text = values.canonical(base64.b64encode(sent).decode(), f"{DECIMAL}(70,{scale})")
    assert text == f"{Decimal((number < 0, tuple(map(int, str(abs(number)))), -scale)):f}"


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4))
def test_a_decimal_that_comes_as_a_number_is_that_number(number):
    for sent in (Number(f"{number:f}"), Number(f"{number:E}"), Number(str(number))):
        text = values.canonical(sent, f"{DECIMAL}(70,4)")
        assert Decimal(text) == number
        assert len(text.partition(".")[2]) >= 4


@given(st.integers(-(10**6), 3 * 10**6))
def test_a_day_is_the_one_that_the_calendar_has(days):
    text = values.canonical(days, f"{TIME}Date")
    if -719162 <= days <= 2932896:
        assert text == str(date(1970, 1, 1) + timedelta(days=days))
    else:  # the calendar repeats itself after 400 years
        shifted = date(2000, 1, 1) + timedelta(days=(days - 10957) % 146097)
        eras = (days - 10957) // 146097
        year, month_and_day = shifted.year + 400 * eras, f"{shifted:-%m-%d}"
        assert text == (f"{year:04d}" if year >= 0 else f"-{-year:04d}") + month_and_day


KINDS = [*values._WRITERS, f"{DECIMAL}(5,2)", f"{DECIMAL}(5,x)", f"{DECIMAL}(,999999999)"]
SENT = st.recursive(
    st.one_of(
        st.text(),
        st.booleans(),
        st.integers(),
        st.from_regex(r"-?[0-9]{1,25}(\.[0-9]+)?([eE][+-]?[0-9]{1,9})?", fullmatch=True).map(
            Number
        ),
        st.binary().map(lambda value: base64.b64encode(value).decode()),
        st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}.{0,9}"),
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ("scale", "value", "wkb", "x", "y", "year", "month", "day", "hour", "specialValue")
            ),
            inner,
        )
    ),
    max_leaves=5,
)
CASTS = {
    "bytes": re.compile("(?:[0-9A-Fa-f]{2})*"),
    f"{DECIMAL}(5,2)": re.compile(r"-?[0-9]+\.[0-9]{2,}"),
    f"{TIME}Date": re.compile(r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2}"),
}


@given(SENT, st.sampled_from(KINDS))
def test_no_value_is_an_error(sent, kind):
    assert isinstance(values.text_of(values.canonical(sent, kind)), str)


@given(SENT.filter(lambda sent: type(sent) is not str), st.sampled_from(sorted(CASTS)))
def test_what_is_not_of_its_type_is_no_value_of_it(sent, kind):
    text = values.text_of(values.canonical(sent, kind))
    is_long = kind.startswith(DECIMAL) and isinstance(sent, Number)  # an exponent of five digits
    assert CASTS[kind].fullmatch(text) or text.startswith("not ") or is_long


PLACEHOLDER = "__debezium_unavailable_value"
BYTES = PLACEHOLDER.encode()
IN_BASE64 = base64.b64encode(BYTES).decode()
ONES = [base64.b64encode(bytes([byte])).decode() for byte in BYTES]


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        ("string", PLACEHOLDER),
        ("bytes", IN_BASE64),
        ("io.debezium.data.Json", f'{{"{PLACEHOLDER}":"{PLACEHOLDER}"}}'),
        ("map", {PLACEHOLDER: PLACEHOLDER}),
        ("array<string>", [PLACEHOLDER]),
        ("array<bytes>", [IN_BASE64]),
        # UUID.nameUUIDFromBytes of the placeholder, by Java.
        ("array<io.debezium.data.Uuid>", ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"]),
        ("array<int32>", list(BYTES)),
        ("array<double>", [Number(f"{byte}.0") for byte in BYTES]),
        (f"array<{DECIMAL}(10,2)>", [Number(f"{byte / 100:.2f}") for byte in BYTES]),
        (f"array<{DECIMAL}(10,2)>", ONES),
        (f"array<{DATA}VariableScaleDecimal>", [{"scale": 0, "value": one} for one in ONES]),
        ("array<boolean>", [True] * len(BYTES)),
    ],
)
def test_what_postgresql_has_not_sent_is_no_column(kind, sent):
    row = {"id": 1, "value": sent, "name": None}
    for types in (
        {"id": "int32", "value": kind},
        None if kind != "array<boolean>" else {"value": kind},
    ):
        rows = Rows(types)
        assert rows.typed(row) == {"id": 1, "name": None}
        assert not rows.is_whole


def test_what_looks_like_a_placeholder_and_is_none_stays():
    row = {"a": [True] * len(BYTES), "b": [0] * len(BYTES), "c": [1] * 28, "d": [PLACEHOLDER] * 2}
    row["e"] = [*[1] * (len(BYTES) - 1), None]
    for types in (None, {"a": "string", "b": "array<int32>", "c": "array<int32>"}):
        rows = Rows(types)
        assert rows.typed(row) == row
        assert rows.is_whole


def test_a_placeholder_that_the_schema_declares_is_no_value():
    rows = Rows({"note": "string", "tags": "array<string>"}, {"note": "n/a", "tags": '["n/a"]'})
    assert rows.typed({"id": 1, "note": "n/a", "tags": ["n/a"]}) == {"id": 1}
    assert not rows.is_whole
