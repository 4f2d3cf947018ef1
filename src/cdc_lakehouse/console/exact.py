"""Convert values of Spark to JSON: to numbers where these are exact, else to texts."""

import json
import math
from base64 import b64decode
from decimal import Decimal
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

# How Spark's to_json has to write times inside a value: all digits, and the zone.
INSIDE = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSxxx",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def exact(text: str | None, kind: DataType) -> Any:
    """Return what JSON has of a value that Spark has written as text, its timestamps in UTC.

    Integers are numbers, with all digits; floats are numbers, but for NaN and Infinity, which JSON
    lacks. Decimals are text, with all digits; binary values are hexadecimal text; times are ISO
    8601. Arrays, structs and maps are arrays and objects of such values.
    """
    if text is None:
        return None
    if isinstance(kind, BooleanType):
        return text == "true"
    if isinstance(kind, IntegralType):
        return int(text)
    if isinstance(kind, FloatType | DoubleType):
        return float(text) if math.isfinite(float(text)) else text
    if isinstance(kind, TimestampType):
        return iso(text)
    if isinstance(kind, TimestampNTZType):
        return text.replace(" ", "T")
    if isinstance(kind, ArrayType | MapType | StructType):
        return _inside(json.loads(text, parse_float=Decimal), kind)
    if isinstance(kind, VariantType):
        return json.loads(text)
    return text


def _inside(value: Any, kind: DataType) -> Any:
    """Return a value out of the text that to_json has written."""
    if value is None:
        return None
    if isinstance(kind, ArrayType):
        return [_inside(inner, kind.elementType) for inner in value]
    if isinstance(kind, MapType):
        return {key: _inside(inner, kind.valueType) for key, inner in value.items()}
    if isinstance(kind, StructType):
        return {field.name: _inside(value[field.name], field.dataType) for field in kind}
    if isinstance(kind, DecimalType):
        return format(Decimal(value), "f")
    if isinstance(kind, BinaryType):
        return b64decode(value).hex()
    return float(value) if isinstance(value, Decimal) else value


def iso(text: str | None) -> str | None:
    """Return a timestamp, as Spark writes it in UTC, as ISO 8601."""
    return None if text is None else f"{text.replace(' ', 'T')}+00:00"
