"""Register functions of Arrow as functions of SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register_arrow(
    spark: SparkSession,
    name: str,
    function: Callable[..., pa.Array | Iterator[pa.Array]],
    return_type: str,
) -> None:
    """Register a function of columns in the session, or one of an iterator of tuples of columns.

    The parts that the latter yields need not be those that it is given.
    """
    # The stubs of Spark know `arrow_udf` in another module alone, and not without a third argument.
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]

    spark.udf.register(name, arrow_udf(function, return_type))
