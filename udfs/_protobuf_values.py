"""Messages of Protobuf that stand for one value of Kafka Connect, as a reader of JSON reads them.

A date is a number of days, a time and a moment numbers of milliseconds, as JsonConverter writes
them; what has more digits than that, or is no date, becomes a text. A decimal is a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from udfs._avro_text import epoch_text, fraction_text
from udfs._debezium_rows import DECIMAL
from udfs._debezium_values import MOST_DIGITS, scaled
from udfs._json_values import Number, Refused

_DATA = "org.apache.kafka.connect.data."
VARIABLE_DECIMAL = "io.debezium.data.VariableScaleDecimal"
_GEOMETRY, _TIME = "io.debezium.data.geometry.", "io.debezium.time.Structured"
# A value beside null: in `wrapper.for.nullables` a message stands for a value that may be null.
WRAPPERS = frozenset(
    f"google.protobuf.{kind}Value"
    for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
# Debezium's structs by the names of their messages, which alone are left of their types, and the
# members by which they are known.
STRUCTS = {
    "VariableScaleDecimal": (VARIABLE_DECIMAL, {"scale", "value"}),
    **{name: (_GEOMETRY + name, {"wkb", "srid"}) for name in ("Geometry", "Geography")},
    "Point": (f"{_GEOMETRY}Point", {"x", "y", "wkb"}),
    "StructuredDate": (f"{_TIME}Date", {"year", "month", "day"}),
    "StructuredTime": (f"{_TIME}Time", {"hour", "minute", "second"}),
    **{
        f"Structured{name}": (_TIME + name, {"year", "month", "day", "hour", "minute", "second"})
        for name in ("Timestamp", "ZonedTimestamp")
    },
}
_DAY_OF_1970 = 2440588  # of the count of days that astronomers begin in 4713 BC
_NANOS = 1_000_000  # of a millisecond


def _decimal(message: Any) -> Number:
    """Read confluent.type.Decimal: the digits as an integer in two's complement, and the scale."""
    if not message.value or abs(message.scale) > MOST_DIGITS:
        found = f"a Decimal of {len(message.value)} bytes with the scale {message.scale}"
        raise Refused("not_protobuf", found)
    return Number(scaled(int.from_bytes(message.value, "big", signed=True), message.scale))


def _date(message: Any) -> int | str:
    """Read google.type.Date.

    The converter writes it by Java's calendar, which is that of Julius Caesar before 15 October
    1582: it makes 0001-01-03 of 0001-01-01.
    """
    year, month, day = message.year, message.month, message.day
    if 1 <= month <= 12 and day >= 1:
        days = _day_number(year, month, day)
        if days < _day_number(year + month // 12, month % 12 + 1, 1):
            return days - _DAY_OF_1970
    return f"{year:04d}-{month:02d}-{day:02d}"


def _day_number(year: int, month: int, day: int) -> int:
    """Return the number of a day of Java's calendar."""
    before = (14 - month) // 12  # the year begins in March
    years = year + 4800 - before
    days = day + (153 * (month + 12 * before - 3) + 2) // 5 + 365 * years + years // 4
    if (year, month, day) < (1582, 10, 15):
        return days - 32083
    return days - years // 100 + years // 400 - 32045


def _time(message: Any) -> int | str:
    """Read google.type.TimeOfDay."""
    hours, minutes, seconds = message.hours, message.minutes, message.seconds
    is_clock = 0 <= hours <= 24 and 0 <= minutes < 60 and 0 <= seconds < 60
    if not is_clock or message.nanos % _NANOS:
        return f"{hours:02d}:{minutes:02d}:{seconds:02d}{fraction_text(message.nanos, 9)}"
    milliseconds: int = ((hours * 60 + minutes) * 60 + seconds) * 1000 + message.nanos // _NANOS
    return milliseconds


def _moment(message: Any) -> int | str:
    """Read google.protobuf.Timestamp."""
    if message.nanos % _NANOS:
        return epoch_text(message.seconds, message.nanos, 9)
    milliseconds: int = message.seconds * 1000 + message.nanos // _NANOS
    return milliseconds


# The type of a message's values, and what reads one.
SPECIAL: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "confluent.type.Decimal": (DECIMAL, _decimal),
    "google.type.Date": (f"{_DATA}Date", _date),
    "google.type.TimeOfDay": (f"{_DATA}Time", _time),
    "google.protobuf.Timestamp": (f"{_DATA}Timestamp", _moment),
}
