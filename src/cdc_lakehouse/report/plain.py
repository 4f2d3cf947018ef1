"""Convert values of rows to the plain values of the facts."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import Row


def plain_row(row: Row) -> dict[str, Any]:
    """Return a row as the facts have it."""
    return {name: plain(value) for name, value in row.asDict().items()}


def plain(value: Any) -> Any:
    """Return a value of a row as the facts have it: times in seconds, no decimals."""
    if isinstance(value, datetime):
        return value.timestamp()
    return float(value) if isinstance(value, Decimal) else value
