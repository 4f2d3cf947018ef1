"""The values of DTS images as canonical text.

Each function takes (body, dataTypeNumber, (source type, digits of a fraction)) and returns text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from udfs._avro_refused import Refused
from udfs._avro_text import (
    characters,
    date_text,
    epoch_text,
    float_text,
    plain_decimal,
    time_text,
    year_text,
)

# The value, the type number of its column, and its context: (source type, digits of a fraction).
Body = dict[str, Any]
Context = tuple[str, int]
Converter = Callable[[Body, int, Context], str]
_INTEGER = re.compile(r"([+-]?)0*([0-9]+)")


def integer(body: Body, _number: int, _context: Context) -> str:
    text: str = body["value"]
    if text.isdecimal() and text.isascii() and text[0] != "0":
        return text
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise Refused("wrong_type", f"{text[:100]!r} is not an integer")
    digits = match[2]
    return "-" + digits if match[1] == "-" and digits != "0" else digits


def _decimal(body: Body, _number: int, _context: Context) -> str:
    return plain_decimal(body["value"])


# Codes of four-byte floats, which DTS sends as doubles: MySQL FLOAT, PostgreSQL's OID of real,
# Oracle BINARY_FLOAT.
_SINGLES = frozenset(
    (("MySQL", 4), ("DRDS", 4), ("PostgreSQL", 700), ("PPAS", 700), ("Oracle", 100))
)


def _float(body: Body, number: int, context: Context) -> str:
    return float_text(body["value"], (context[0], number) in _SINGLES)


def _character(body: Body, _number: int, _context: Context) -> str:
    data: bytes = body["value"]
    charset = body["charset"]
    if charset in ("utf8mb4", "utf8"):
        try:
            return data.decode()
        except UnicodeDecodeError:
            pass
    if charset == "binary":
        # MySQL's name for the charset of BINARY and VARBINARY: bytes, not characters.
        return data.hex()
    return characters(data, charset)


def _timestamp(body: Body, _number: int, _context: Context) -> str:
    # `millis` holds microseconds, whatever its name and the source.
    return epoch_text(body["timestamp"], body["millis"], 6)


def fraction_digits(source_type: str, position: str) -> int:
    """Digits that DateTime.millis counts: it holds micro- or nanoseconds, by source. A position
    with <-> is written by the reader of physical logs, which counts nanoseconds."""
    return 6 if source_type in ("MySQL", "PostgreSQL") and "<->" not in position else 9


_FAMILIES = {"DRDS": "MySQL", "PPAS": "PostgreSQL"}
# What a column is, where the parts that are set may say more: a DATE with a clock of zeros.
_FORMS = {
    **{("MySQL", number): "date" for number in (10, 14)},
    **{("MySQL", number): "time" for number in (11, 19)},
    **{("MySQL", number): "datetime" for number in (7, 12, 17, 18)},
    ("MySQL", 13): "year",
    ("PostgreSQL", 1082): "date",
    ("PostgreSQL", 1083): "time",
    ("PostgreSQL", 1114): "datetime",
    ("Oracle", 12): "datetime",
    ("Oracle", 180): "datetime",
}


def _datetime(body: Body, number: int, context: Context) -> str:
    """Text of the parts that are set: date, time (to 838 hours, negative), datetime, year, and
    Oracle's intervals as [-]Y-MM and [-]D HH:MM:SS[.f]."""
    source_type, digits = context
    form = _FORMS.get((_FAMILIES.get(source_type, source_type), number))
    date = year, month, day = body["year"], body["month"], body["day"]
    parts = body["hour"], body["minute"], body["second"], body["millis"]
    has_date, has_clock = date != (None,) * 3, parts != (None,) * 4
    if not (has_date or has_clock):
        raise Refused("wrong_type", "a DateTime without any part")
    # Zeros in parts that the type does not have are no parts; anything else is kept.
    if form == "date" and has_date and not any(parts):
        has_clock = False
    elif form == "time" and has_clock and not any(date):
        has_date = False
    elif form == "datetime" and has_date:
        has_clock = True
    elif form == "year" and year is not None and not (month or day or any(parts)):
        return year_text(year)

    if not has_clock:
        if day is None and month is None:
            return year_text(year)
        if day is None:
            return _signed((year or 0, month), lambda y, m: f"{y}-{m:02d}")
        return date_text(year or 0, month or 0, day)
    hour, minute, second, part = clock = [each or 0 for each in parts]
    if not has_date:
        return _signed(clock, lambda h, m, s, f: time_text(h, m, s, f, digits, 10**6))
    if year is None and month is None:
        return _signed(
            (day, *clock), lambda d, h, m, s, f: f"{d} {time_text(h, m, s, f, digits, 23)}"
        )
    time = time_text(hour, minute, second, part, digits, 24)
    return f"{date_text(year or 0, month or 0, day or 0)} {time}"


def _signed(parts: Sequence[int], spell: Callable[..., str]) -> str:
    """Spell parts that carry their common sign each."""
    if min(parts) >= 0:
        return spell(*parts)
    if max(parts) > 0:
        raise Refused("wrong_type", f"parts of both signs: {parts}")
    return "-" + spell(*(-part for part in parts))


def _zoned(body: Body, number: int, context: Context) -> str:
    return f"{_datetime(body['value'], number, context)} {body['timezone']}".rstrip()


def _hex(body: Body, _number: int, _context: Context) -> str:
    data: bytes = body["value"]
    return data.hex()


def _as_sent(body: Body, _number: int, _context: Context) -> str:
    text: str = body["value"]
    return text


_TEXT_TYPES = frozenset(("JSON", "JSONB", "XML", "TEXT", "ENUM", "SET"))
_POSTGRES = ("PostgreSQL", "PPAS")


def _binary_object(body: Body, number: int, context: Context) -> str:
    data: bytes = body["value"]
    # PostgreSQL's json and jsonb come as bytes of their text.
    is_json = number in (114, 3802) and context[0] in _POSTGRES
    if is_json or body["type"].upper() in _TEXT_TYPES:
        return characters(data, "utf8")
    return data.hex()


_BOOLEANS = {"t": "1", "true": "1", "f": "0", "false": "0"}


def _text_object(body: Body, number: int, context: Context) -> str:
    text: str = body["value"]
    is_bool = number == 16 and context[0] in _POSTGRES
    if is_bool or body["type"].upper() in ("BOOL", "BOOLEAN"):
        return _BOOLEANS.get(text.lower(), text)
    return text


CONVERTERS: dict[str, Converter] = {
    "Integer": integer,
    "Character": _character,
    "Decimal": _decimal,
    "Float": _float,
    "Timestamp": _timestamp,
    "DateTime": _datetime,
    "TimestampWithTimeZone": _zoned,
    "BinaryGeometry": _hex,
    "TextGeometry": _as_sent,
    "BinaryObject": _binary_object,
    "TextObject": _text_object,
}
