"""Write the values of a Debezium row image as canonical text.

`register` makes `debezium_image(image map<string, string>, types map<string, string>)` a SQL
function; `canonical` is the same for one value in plain Python. `types` has for each column the
semantic type that its schema names, else the type of Kafka Connect, and for a decimal its digits:
`io.debezium.time.MicroTimestamp`, `int32`, `org.apache.kafka.connect.data.Decimal(10,2)`. A column
without a type stays as sent, and so does a value that is not what its type says. A value that
PostgreSQL has not sent, of which Debezium writes a placeholder, is no member of the result.
"""

import base64
import json
import re
from datetime import date, datetime, timedelta

import pyarrow as pa

RETURN_TYPE = "map<string, string>"
PLACEHOLDER = "__debezium_unavailable_value"
# What Debezium writes in place of a value of TOAST that the change does not carry: a text, bytes,
# a list of texts, an hstore, a list of numbers.
UNAVAILABLE = frozenset(
    (
        PLACEHOLDER,
        base64.b64encode(PLACEHOLDER.encode()).decode(),
        f'["{PLACEHOLDER}"]',
        f'{{"{PLACEHOLDER}":"{PLACEHOLDER}"}}',
        json.dumps(list(PLACEHOLDER.encode()), separators=(",", ":")),
    )
)
EPOCH = datetime(1970, 1, 1)
# PostgreSQL's numbers have the most: so many digits behind the point.
MOST_DIGITS = 16383
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)(.*)")


def register(spark, project_dir):
    """Register `debezium_image(image, types)` in `spark`. Workers need pyarrow."""
    from pyspark.sql.functions import arrow_udf

    def write_all(images: pa.Array, types: pa.Array) -> pa.Array:
        rows = zip(images.to_pylist(), types.to_pylist(), strict=True)
        return pa.array([write(*row) for row in rows], pa.map_(pa.string(), pa.string()))

    spark.udf.register("debezium_image", arrow_udf(write_all, RETURN_TYPE))


def write(image, types):
    """Return the canonical texts of an image, a list of pairs or None."""
    if image is None:
        return None
    known = dict(types or ())
    return [
        (name, canonical(text, known.get(name))) for name, text in image if text not in UNAVAILABLE
    ]


def canonical(text, kind):
    """Return the canonical text of a value of a type; the text itself where it does not fit."""
    writer = _WRITERS.get((kind or "").partition("(")[0])
    if text is None or writer is None:
        return text
    try:
        written = writer(text, kind)
    except (ValueError, OverflowError, KeyError, TypeError, RecursionError):
        return text
    return text if written is None else written


def _boolean(text, kind):
    return {"true": "1", "false": "0"}.get(text)


def _hex(text, kind):
    return base64.b64decode(text, validate=True).hex()


def _bits(text, kind):
    """Bits are bytes, the lowest first."""
    return str(int.from_bytes(base64.b64decode(text, validate=True), "little"))


def _decimal(text, kind):
    scale = int(kind.partition("(")[2].rstrip(")").rpartition(",")[2])
    return _scaled(text, scale)


def _variable_decimal(text, kind):
    found = json.loads(text)
    return _scaled(found["value"], int(found["scale"]))


def _scaled(text, scale):
    """Write an integer in Base64, two's complement, with its decimal point."""
    if abs(scale) > MOST_DIGITS:
        raise ValueError(scale)
    number = int.from_bytes(base64.b64decode(text, validate=True), "big", signed=True)
    sign, digits = ("-", str(-number)) if number < 0 else ("", str(number))
    if scale <= 0:
        return sign + (digits + "0" * -scale if number else "0")
    digits = digits.rjust(scale + 1, "0")
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}"


def _wkb(text, kind):
    return base64.b64decode(json.loads(text)["wkb"], validate=True).hex()


def _day(text, kind):
    return str(date(1970, 1, 1) + timedelta(days=_integer(text)))


def _time_of(digits):
    """Return the writer of a time that is counted in 10 ** -digits seconds."""

    def write_time(text, kind):
        number = _integer(text)
        seconds, part = divmod(abs(number), 10**digits)
        clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        return ("-" if number < 0 else "") + clock + _fraction(part, digits)

    return write_time


def _moment_of(digits):
    """Return the writer of a wall clock that is counted in 10 ** -digits seconds since 1970."""

    def write_moment(text, kind):
        seconds, part = divmod(_integer(text), 10**digits)
        return f"{EPOCH + timedelta(seconds=seconds)}{_fraction(part, digits)}"

    return write_moment


def _fraction(part, digits):
    return f".{part:0{digits}d}".rstrip("0") if part else ""


def _zoned(text, kind):
    """A moment in UTC ends with Z; another offset belongs to the value."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    day, clock, zone = found.groups()
    seconds, _, part = clock.partition(".")
    part = part.rstrip("0")
    written = f"{day} {seconds}" + (f".{part}" if part else "")
    return written if zone == "Z" else f"{written} {zone}"


def _integer(text):
    if not _INTEGER.fullmatch(text):
        raise ValueError(text)
    return int(text)


_TIME, _CONNECT, _DATA = "io.debezium.time.", "org.apache.kafka.connect.data.", "io.debezium.data."
_WRITERS = {
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
    f"{_TIME}ZonedTimestamp": _zoned,
}
