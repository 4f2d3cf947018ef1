"""Values of Debezium as canonical text, worked out by hand from the pages of its connectors."""

import base64
import importlib
from decimal import Decimal

import pytest
from conftest import PROJECT
from hypothesis import given
from hypothesis import strategies as st

from cdc_lakehouse.runtime.functions import open_package

open_package(PROJECT)
debezium_image = importlib.import_module("udfs.debezium_image")

TIME, DATA = "io.debezium.time.", "io.debezium.data."
DECIMAL = "org.apache.kafka.connect.data.Decimal"
POINT = '{"x":1.0,"y":1.0,"wkb":"AQEAAAAAAAAAAADwPwAAAAAAAPA/","srid":null}'


@pytest.mark.parametrize(
    ("kind", "sent", "text"),
    [
        ("boolean", "true", "1"),
        ("boolean", "false", "0"),
        ("int64", "-9223372036854775808", "-9223372036854775808"),
        ("double", "1.5", "1.5"),
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
        (f"{DATA}VariableScaleDecimal", '{"scale":3,"value":"MDk="}', "12.345"),
        (f"{DATA}Bits", "Bg==", "6"),
        (f"{DATA}Bits", "AYA=", "32769"),
        (f"{DATA}Enum", "small", "small"),
        (f"{DATA}EnumSet", "a,b", "a,b"),
        (f"{DATA}Json", '{"a":true}', '{"a":true}'),
        (f"{DATA}geometry.Point", POINT, "0101000000000000000000f03f000000000000f03f"),
        (f"{TIME}Date", "17702", "2018-06-20"),
        (f"{TIME}Date", "-1", "1969-12-31"),
        (f"{TIME}Time", "46800000", "13:00:00"),
        (f"{TIME}MicroTime", "-3661000001", "-01:01:01.000001"),
        (f"{TIME}MicroTime", "3020399000000", "838:59:59"),
        (f"{TIME}NanoTime", "1000000", "00:00:00.001"),
        (f"{TIME}Timestamp", "1529507596945", "2018-06-20 15:13:16.945"),
        (f"{TIME}MicroTimestamp", "1529507596945104", "2018-06-20 15:13:16.945104"),
        (f"{TIME}NanoTimestamp", "1529507596945104001", "2018-06-20 15:13:16.945104001"),
        (f"{TIME}MicroTimestamp", "-1", "1969-12-31 23:59:59.999999"),
        (f"{TIME}MicroTimestamp", "1529507596000000", "2018-06-20 15:13:16"),
        ("org.apache.kafka.connect.data.Timestamp", "1000", "1970-01-01 00:00:01"),
        (f"{TIME}ZonedTimestamp", "2018-06-20T13:37:03Z", "2018-06-20 13:37:03"),
        (f"{TIME}ZonedTimestamp", "2018-06-20T13:37:03.1200Z", "2018-06-20 13:37:03.12"),
        (f"{TIME}ZonedTimestamp", "2018-06-20T13:37:03+02:00", "2018-06-20 13:37:03 +02:00"),
        (f"{TIME}ZonedTime", "13:37:03Z", "13:37:03Z"),
        (f"{TIME}Interval", "P1Y2M3DT4H5M6.7S", "P1Y2M3DT4H5M6.7S"),
        # What is not of its type stays as sent, and so does what has no type.
        (f"{TIME}MicroTimestamp", "9223372036854775807", "9223372036854775807"),
        (f"{TIME}Date", "soon", "soon"),
        (f"{DECIMAL}(5,2)", "no Base64", "no Base64"),
        (f"{DATA}VariableScaleDecimal", "7", "7"),
        (None, "MDk=", "MDk="),
        ("bytes", None, None),
    ],
)
def test_a_value_has_the_text_of_its_type(kind, sent, text):
    assert debezium_image.canonical(sent, kind) == text


@given(st.integers(-(10**70), 10**70), st.integers(0, 60))
def test_a_decimal_keeps_every_digit(number, scale):
    sent = number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
    text = debezium_image.canonical(base64.b64encode(sent).decode(), f"{DECIMAL}(70,{scale})")
    assert text == f"{Decimal((number < 0, tuple(map(int, str(abs(number)))), -scale)):f}"


KINDS = [*debezium_image._WRITERS, f"{DECIMAL}(5,2)", f"{DECIMAL}(5,x)", f"{DECIMAL}(,999999999)"]
SENT = st.one_of(
    st.text(),
    st.from_regex(r"-?[0-9]{1,25}", fullmatch=True),
    st.binary().map(lambda value: base64.b64encode(value).decode()),
    st.sampled_from(('{"scale":999999999,"value":"AQ=="}', "[" * 5000, "{}", '{"wkb":1}', "null")),
    st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}.{0,9}", fullmatch=True),
)


@given(SENT, st.sampled_from(KINDS))
def test_no_value_is_an_error(text, kind):
    assert isinstance(debezium_image.canonical(text, kind), str)


def test_what_postgresql_has_not_sent_is_no_column():
    image = [("id", "1"), ("note", "__debezium_unavailable_value"), ("name", None)]
    unavailable = base64.b64encode(b"__debezium_unavailable_value").decode()
    image += [("photo", unavailable), ("tags", '["__debezium_unavailable_value"]')]
    types = [("photo", "bytes"), ("id", "int32")]
    assert debezium_image.write(image, types) == [("id", "1"), ("name", None)]
    assert debezium_image.write(image, None) == [("id", "1"), ("name", None)]
    assert debezium_image.write(None, types) is None
