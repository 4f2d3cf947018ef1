"""Notes on a type for the description of a proposed column, beside the source's own word."""

import re

from cdc_lakehouse.gold.type_words import CONNECT_DECIMAL, DEBEZIUM

_UNITS = {
    "io.debezium.time.microduration": "a number of microseconds",
    "io.debezium.time.nanoduration": "a number of nanoseconds",
}
_JSON = "text that holds JSON: get_json_object, from_json and try_parse_json read it"
_CLOCK = "text, for Delta has no type for a time of day"
# Why a column is text that is no text in the source, by the word of its type in lower case.
_TEXTS = {
    **dict.fromkeys(("io.debezium.data.json", "json", "jsonb"), _JSON),
    **dict.fromkeys(("map", "struct"), _JSON),
    **dict.fromkeys(("io.debezium.data.uuid", "uuid"), "a UUID in text"),
    **dict.fromkeys(
        (f"io.debezium.time.{word}time" for word in ("", "micro", "nano", "iso", "structured")),
        _CLOCK,
    ),
    **dict.fromkeys(("org.apache.kafka.connect.data.time", "io.debezium.time.zonedtime"), _CLOCK),
    **dict.fromkeys(("time", "time without time zone", "time with time zone"), _CLOCK),
    "io.debezium.time.nanotimestamp": "text, for a timestamp has microseconds here",
    "io.debezium.time.zonedtimestamp": "text, for the zone belongs to the value",
    "io.debezium.time.interval": "text, an interval of ISO 8601, for which Delta has no type",
    "io.debezium.data.variablescaledecimal": "text, for each value has digits of its own",
    "io.debezium.data.bits": "text, for there may be more bits than a number has",
}
# Elements of lists, whose values stay as they were sent, by the types of Kafka Connect.
_ELEMENTS = {
    **{kind: DEBEZIUM[kind] for kind in ("boolean", "int8", "int16", "int32", "int64")},
    **{kind: DEBEZIUM[kind] for kind in ("float", "double", "float32", "float64")},
}


def type_note(worded: str, data_type: str) -> str | None:
    """Return what a reader of a column has to know of its type, None if that says it all.

    Args:
        worded: the type as messages word it, in lower case.
        data_type: the Spark type that was proposed for it.
    """
    if worded in _UNITS:
        return _UNITS[worded]
    if data_type != "string":
        return None
    if worded.startswith("array"):
        return f"a list as JSON: {list_cast(worded)} reads it"
    word, _, digits = worded.rstrip(")").partition("(")
    if word == CONNECT_DECIMAL.lower() or word in ("decimal", "numeric", "number"):
        precision = digits.partition(",")[0]
        if precision.isdecimal():
            return "text, for a decimal has no more than 38 digits here"
        return "text, for the messages do not say how many digits it has"
    return _TEXTS.get(word)


def list_cast(worded: str, column: str = "the column") -> str:
    """Return the `from_json` that makes a list of a column whose type begins with `array`."""
    match = re.match(r"((?:array<)*)([^<>]*)", "array<>" if " or " in worded else worded)
    assert match  # the pattern fits every text
    depth, element = match[1].count("array<") or 1, match[2] if match[1] else ""
    held = "array<" * depth + _ELEMENTS.get(element, "string") + ">" * depth
    return f"from_json({column}, '{held}')"
