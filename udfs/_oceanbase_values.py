"""The values of OceanBase images as canonical text.

Each function takes (body, type_info) and returns text.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from datetime import datetime
from typing import Any, NoReturn
from zoneinfo import ZoneInfo

from udfs._avro_refused import Refused, remembered
from udfs._avro_text import (
    characters,
    date_text,
    epoch_text,
    float_text,
    plain_decimal,
    time_text,
)

Body = dict[str, Any]
Converter = Callable[[Any, str], str]


def unknown(body: Any, kind: str) -> NoReturn:
    raise Refused("wrong_type", f"{kind} in a branch that is not documented: {str(body)[:100]}")


def _number(value: int, _kind: str) -> str:
    return str(value)


def _boolean(value: bool, _kind: str) -> str:
    return "1" if value else "0"


def _double(value: float, kind: str) -> str:
    return float_text(value, kind == "FLOAT")


def float_of_bytes(body: bytes, _kind: str) -> str:
    return float_text(struct.unpack("<f", body)[0], is_single=True)


# The meaning of bytes of these types is not documented.
_NOT_BYTES = frozenset(
    (
        *("INTEGER", "LONG", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "BIT"),
        *("DATE", "TIME", "DATETIME", "TIMESTAMP", "ENUM", "SET"),
    )
)


def _bytes(value: bytes, kind: str) -> str:
    if kind == "STRING":
        return characters(value, "utf8")
    if kind in _NOT_BYTES:
        raise Refused("wrong_type", f"{len(value)} bytes for {kind}")
    return value.hex()


def _string(value: str, kind: str) -> str:
    return plain_decimal(value) if kind == "DECIMAL" else value


def _as_sent(body: Body, _kind: str) -> str:
    text: str = body["value"]
    return text


def _decimal(body: Body, _kind: str) -> str:
    return plain_decimal(body["value"])


def _date(body: Body, _kind: str) -> str:
    return date_text(body["year"], body["month"], body["day"])


def _time(body: Body, _kind: str) -> str:
    text = time_text(body["hours"], body["minutes"], body["seconds"], body["nanos"], 9, 10**6)
    return "-" + text if body["negative"] and text.strip("0:.") else text


def _datetime(body: Body, kind: str) -> str:
    clock = time_text(body["hours"], body["minutes"], body["seconds"], body["nanos"], 9, 24)
    return f"{_date(body, kind)} {clock}"


def _timestamp(body: Body, _kind: str) -> str:
    """UTC, or with a zone its wall clock and its name. A zone that nobody knows here is given up
    for UTC, and the text says so: the moment is right, and no reader takes it for another."""
    seconds, nanos, zone = body["seconds"], body["nanos"], body["timezone"]
    if not zone:
        return epoch_text(seconds, nanos, 9)
    try:
        of_zone = _offset(zone)
        offset = None if of_zone is None else of_zone(seconds)
    except (TypeError, ValueError, OverflowError, OSError):
        offset = None
    if offset is None:
        return epoch_text(seconds, nanos, 9) + " UTC"
    return f"{epoch_text(seconds + offset, nanos, 9)} {zone}"


_OFFSET = re.compile(r"(?:GMT|UTC)?([+-])([01]?[0-9]):?([0-5][0-9])?(?::?([0-5][0-9]))?|Z")
# Files of the machine among the zones: their meaning is not the sender's.
_LOCAL_ZONES = frozenset(("localtime", "posixrules", "Factory"))


@remembered
def _offset(zone: str) -> Callable[[int], int] | None:
    """Return what gives the offset of a zone for seconds since 1970, None for unknown zones."""
    if match := _OFFSET.fullmatch(zone):
        sign, hours, minutes, seconds = match.groups("0")
        offset = int(hours) * 3600 + int(minutes) * 60 + int(seconds)
        return lambda _: -offset if sign == "-" else offset
    try:
        if zone in _LOCAL_ZONES:
            return None
        found = ZoneInfo(zone)
    except (LookupError, ValueError, OSError):
        return None

    def offset_of(seconds: int) -> int:
        offset = datetime.fromtimestamp(seconds, found).utcoffset()
        return int(offset.total_seconds()) if offset else 0

    return offset_of


_NUMBER_OF_BITS = re.compile(r"0|[1-9][0-9]{0,19}")
_LITERAL_BITS = re.compile(r"(?:[bB]'([01]+)'|0b([01]+))")


def _bit(body: Body, _kind: str) -> str:
    """Unsigned integer. The document does not say whether `value` holds bits or a number, but the
    two can be told: zeros and ones as many as bit_length are bits, since as a number they would
    need more bits (10 does not fit into two) or begin with a zero, which no number does.
    Anything shorter is a number, if it fits; the rest is refused."""
    length, text = body["bit_length"], body["value"]
    if literal := _LITERAL_BITS.fullmatch(text):
        number = int(literal[1] or literal[2], 2)
    elif len(text) == length and not text.strip("01"):
        number = int(text, 2)
    elif _NUMBER_OF_BITS.fullmatch(text):
        number = int(text)
    else:
        raise Refused("wrong_type", f"{text[:100]!r} is neither {length} bits nor a number")
    if number > 1 and number.bit_length() > length:
        raise Refused("wrong_type", f"{text[:100]!r} does not fit {length} bits")
    return str(number)


def _enum_or_set(body: Body, kind: str) -> str:
    """The label(s). Digits are an ordinal (ENUM) or a mask of labels (SET), unless they are
    labels themselves."""
    text: str = body["value"]
    labels: list[str] = body["defines"]
    if not labels or text in labels or not (text.isdecimal() and text.isascii()):
        return text
    if kind == "ENUM" and len(text) <= 10 and int(text) <= len(labels):
        return labels[int(text) - 1] if int(text) else ""  # 0 is what MySQL stores for no label
    if kind == "SET" and len(text) <= 20 and int(text).bit_length() <= len(labels):
        return ",".join(label for bit, label in enumerate(labels) if int(text) >> bit & 1)
    raise Refused("wrong_type", f"{text[:100]!r} is none of the {len(labels)} labels of {kind}")


def _geometry(body: Body, _kind: str) -> str:
    data: bytes = body["wkb"]
    return data.hex()


PLAIN: dict[type, Converter] = {
    bool: _boolean,
    int: _number,
    float: _double,
    bytes: _bytes,
    str: _string,
}
CONVERTERS: dict[str, Converter] = {
    "StringObject": _as_sent,
    "DecimalObject": _decimal,
    "DateObject": _date,
    "TimeObject": _time,
    "DateTimeObject": _datetime,
    "TimestampObject": _timestamp,
    "BitObject": _bit,
    "EnumSetValue": _enum_or_set,
    "GeometryValue": _geometry,
}
