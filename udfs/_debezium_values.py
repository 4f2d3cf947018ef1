"""The values of Debezium's rows as canonical text, by the types that their schema names.

A type is the semantic one (`io.debezium.time.Date`), else that of Kafka Connect (`int32`); a
decimal has its digits behind it, `org.apache.kafka.connect.data.Decimal(10,2)`, a list the type of
its elements, `array<int32>`. A value is what a reader of JSON gives; bytes are a text in Base64.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Callable
from hashlib import md5
from typing import Any
from uuid import UUID

from udfs._avro_refused import Refused
from udfs._avro_text import (
    date_text,
    day_text,
    epoch_text,
    fraction_text,
    plain_decimal,
    time_text,
)
from udfs._json_values import json_text

Writer = Callable[[Any, str], str | None]
PLACEHOLDER = "__debezium_unavailable_value"
_BYTES = PLACEHOLDER.encode()
_IN_BASE64 = base64.b64encode(_BYTES).decode()
_AS_UUID = str(UUID(bytes=md5(_BYTES, usedforsecurity=False).digest(), version=3))
# What Debezium writes in place of a value of TOAST that the change does not carry: a text, bytes,
# an hstore, a list of one of them.
_TEXTS = frozenset((PLACEHOLDER, _IN_BASE64, f'{{"{PLACEHOLDER}":"{PLACEHOLDER}"}}'))
_LONGEST = max(map(len, _TEXTS))
_ELEMENTS = frozenset((PLACEHOLDER, _IN_BASE64, _AS_UUID))
_HSTORE = {PLACEHOLDER: PLACEHOLDER}

# PostgreSQL's numbers have the most: so many digits behind the point.
MOST_DIGITS = 16383
_MISFITS = Refused, ValueError, OverflowError, LookupError, TypeError, AttributeError, struct.error
_INTEGER = re.compile(r"\s*([+-]?[0-9]{1,19})\s*")
_DATE, _CLOCK = r"([+-]?[0-9]{4,9}-[0-9]{2}-[0-9]{2})", r"([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?"
_MOMENT = re.compile(rf"{_DATE}T{_CLOCK}(Z|[+-].*)")
_ISO_DATE = re.compile(rf"{_DATE}Z")
_ISO_TIME = re.compile(rf"{_CLOCK}Z")
# PostgreSQL's infinity in milliseconds, microseconds and nanoseconds.
_ENDLESS = {
    3: {9223372036825200000, 9223372036825200, -9223372036832400000, -9223372036832400},
    6: {9223372036825200000, -9223372036832400000},
    9: {9223372036854775807, -9223372036854775808},
}


def canonical(value: Any, kind: str) -> Any:
    """Return the canonical text of a value of a type, or the value if its text is that.

    A value that is not of its type becomes a text that no cast takes for one, `not Date: true`. A
    text in place of a date or a time stays as sent.
    """
    writer = _WRITERS.get(kind.partition("(")[0])
    if value is None or writer is None:
        return value
    try:
        written = writer(value, kind)
    except _MISFITS:
        if type(value) is str and kind.startswith(_TIMES):
            return value
        name = kind.partition("(")[0].rpartition(".")[2]
        return no_value_of(name, value)
    return value if written is None else written


def no_value_of(name: str, value: Any) -> str:
    """Return the text of a value that is none of its type, which no cast takes for one."""
    return f"not {name}: {json_text(value)}"


def text_of(value: Any) -> str | None:
    """Return a value as Spark's `from_json` writes it into a map of texts."""
    if value is None or type(value) is str:
        return value
    return str(value) if isinstance(value, str) else json_text(value)


def is_unavailable(value: Any, kind: str, declared: str | None = None) -> bool:
    """Tell whether a value is Debezium's placeholder for one that PostgreSQL has not sent.

    `declared` is the placeholder of the column as its schema says it, None if it does not. Lists
    of numbers hold the bytes of the placeholder, which are true in a list of booleans.
    """
    if type(value) is str:
        return (len(value) <= _LONGEST and value in _TEXTS) or value == declared
    if declared is not None and json_text(value) == declared:
        return True
    if isinstance(value, dict):
        return value == _HSTORE
    if not isinstance(value, list):
        return False
    if len(value) == 1:
        return type(value[0]) is str and value[0] in _ELEMENTS
    return len(value) == len(_BYTES) and _are_its_bytes(value, kind)


def _are_its_bytes(values: list[Any], kind: str) -> bool:
    """Decimals have a scale, floats a zero behind the point: their digits are multiples."""
    if kind == "array<boolean>":
        return all(value is True for value in values)
    try:
        numbers = [_digits_of(value) for value in values]
    except (ValueError, KeyError, TypeError):
        return False
    return numbers[0] > 0 and all(
        number * _BYTES[0] == byte * numbers[0]
        for number, byte in zip(numbers, _BYTES, strict=True)
    )


def _digits_of(value: Any) -> int:
    if isinstance(value, dict):
        value = value["value"]
    if type(value) is str:
        return int.from_bytes(_from_base64(value), "big")
    return int(str(text_of(value)).replace(".", ""))


def _boolean(value: Any, kind: str) -> str | None:
    if type(value) is bool:
        return "1" if value else "0"
    return {"true": "1", "false": "0"}.get(value) if type(value) is str else None


def _from_base64(value: Any) -> bytes:
    if type(value) is not str:
        raise ValueError(value)
    return base64.b64decode(value, validate=True)


def _hex(value: Any, kind: str) -> str:
    return _from_base64(value).hex()


def _bits(value: Any, kind: str) -> str:
    """Bits are bytes, the lowest first."""
    return str(int.from_bytes(_from_base64(value), "little"))


def _decimal(value: Any, kind: str) -> str:
    """Write a decimal: a text is Base64, a number the number (`decimal.format` NUMERIC)."""
    scale = int(kind.partition("(")[2].rstrip(")").rpartition(",")[2])
    if type(value) is str:
        return _scaled(value, scale)
    whole, _, fraction = _plain_number(value).partition(".")
    fraction = fraction.ljust(min(max(scale, 0), MOST_DIGITS), "0")
    return f"{whole}.{fraction}" if fraction else whole


def _plain_number(value: Any) -> str:
    if isinstance(value, (bool, list, dict)) or type(value) is str:
        raise ValueError(value)
    return plain_decimal(str(value))


def _variable_decimal(value: Any, kind: str) -> str:
    if not isinstance(value, dict):
        return _plain_number(value)
    return _scaled(value["value"], int(value["scale"]))


def _scaled(text: Any, scale: int) -> str:
    """Write an integer in Base64, two's complement, with its decimal point."""
    if abs(scale) > MOST_DIGITS:
        raise ValueError(scale)
    return scaled(int.from_bytes(_from_base64(text), "big", signed=True), scale)


def scaled(number: int, scale: int) -> str:
    """Write an integer with a decimal point before its last `scale` digits."""
    sign, digits = ("-", str(-number)) if number < 0 else ("", str(number))
    if scale <= 0:
        return sign + (digits + "0" * -scale if number else "0")
    digits = digits.rjust(scale + 1, "0")
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}"


def _wkb(value: Any, kind: str) -> str:
    """Write a geometry's well-known binary; a point may have its coordinates alone."""
    wkb = value.get("wkb")
    if not wkb:
        return struct.pack("<BIdd", 1, 1, *(float(str(value[axis])) for axis in "xy")).hex()
    return _from_base64(wkb).hex()


def _day(value: Any, kind: str) -> str:
    return day_text(_integer(value))


def _time_of(digits: int) -> Writer:
    """Return the writer of a time that is counted in 10 ** -digits seconds."""

    def write_time(value: Any, kind: str) -> str:
        number = _integer(value)
        seconds, part = divmod(abs(number), 10**digits)
        clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        return ("-" if number < 0 else "") + clock + fraction_text(part, digits)

    return write_time


def _moment_of(digits: int) -> Writer:
    """Return the writer of a wall clock that is counted in 10 ** -digits seconds since 1970."""

    def write_moment(value: Any, kind: str) -> str:
        number = _integer(value)
        if number in _ENDLESS[digits]:
            return "infinity" if number > 0 else "-infinity"
        seconds, part = divmod(number, 10**digits)
        return epoch_text(seconds, part, digits)

    return write_moment


def _zoned(value: Any, kind: str) -> str | None:
    """A moment in UTC ends with Z; another offset belongs to the value."""
    found = _MOMENT.fullmatch(value)
    if found is None:
        return None
    day, clock, fraction, zone = found.groups()
    written = f"{day.removeprefix('+')} {clock}{_trimmed(fraction)}"
    return written if zone == "Z" else f"{written} {zone}"


def _iso_date(value: Any, kind: str) -> str | None:
    found = _ISO_DATE.fullmatch(value)
    return found and found[1].removeprefix("+")


def _iso_time(value: Any, kind: str) -> str | None:
    found = _ISO_TIME.fullmatch(value)
    return found and found[1] + _trimmed(found[2])


def _trimmed(fraction: str | None) -> str:
    return (fraction or "").rstrip("0").rstrip(".")


def _structured(value: Any, kind: str) -> str | None:
    """Write a date, a time or both that come as an object of their parts."""
    if special := value.get("specialValue"):
        return {"POSITIVE_INFINITY": "infinity", "NEGATIVE_INFINITY": "-infinity"}[special]
    parts = []
    if "year" in value:
        parts.append(date_text(value["year"], value["month"], value["day"]))
    if "hour" in value:
        hour, minute, second = (value[name] for name in ("hour", "minute", "second"))
        parts.append(time_text(hour, minute, second, value.get("nanos") or 0, 9, 24))
    if offset := value.get("offsetSeconds"):
        minutes = abs(offset) // 60
        parts.append(f"{'-' if offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}")
    return " ".join(parts) or None


def _integer(value: Any) -> int:
    if type(value) is int:
        return value
    found = _INTEGER.fullmatch(str(value))
    if found is None:
        raise ValueError(value)
    return int(found[1])


_TIME, _CONNECT, _DATA = "io.debezium.time.", "org.apache.kafka.connect.data.", "io.debezium.data."
_TIMES = (_TIME, *(f"{_CONNECT}{name}" for name in ("Date", "Time")))
_WRITERS: dict[str, Writer] = {
    "boolean": _boolean,
    "bytes": _hex,
    f"{_CONNECT}Decimal": _decimal,
    f"{_DATA}VariableScaleDecimal": _variable_decimal,
    f"{_DATA}Bits": _bits,
    **dict.fromkeys((f"{_DATA}geometry.{n}" for n in ("Geometry", "Geography", "Point")), _wkb),
    **dict.fromkeys((f"{_TIME}Date", f"{_CONNECT}Date"), _day),
    **dict.fromkeys((f"{_TIME}Time", f"{_CONNECT}Time"), _time_of(3)),
    f"{_TIME}MicroTime": _time_of(6),
    f"{_TIME}NanoTime": _time_of(9),
    **dict.fromkeys((f"{_TIME}Timestamp", f"{_CONNECT}Timestamp"), _moment_of(3)),
    f"{_TIME}MicroTimestamp": _moment_of(6),
    f"{_TIME}NanoTimestamp": _moment_of(9),
    f"{_TIME}IsoDate": _iso_date,
    f"{_TIME}IsoTime": _iso_time,
    **dict.fromkeys((f"{_TIME}{name}" for name in ("ZonedTimestamp", "IsoTimestamp")), _zoned),
    **dict.fromkeys(
        (f"{_TIME}Structured{n}" for n in ("Date", "Time", "Timestamp", "ZonedTimestamp")),
        _structured,
    ),
}
