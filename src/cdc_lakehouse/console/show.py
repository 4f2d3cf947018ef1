"""Answer queries with a table, with CSV or with JSON."""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, MapType, StructField, StructType

from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.console.exact import INSIDE, exact
from cdc_lakehouse.console.text_table import text_table
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.functions import register_functions
from cdc_lakehouse.runtime.locks import hold_tables
from cdc_lakehouse.runtime.paths import lakehouse_dir, warehouse_path
from cdc_lakehouse.runtime.project import project_folder
from cdc_lakehouse.runtime.served import join_or_keep
from cdc_lakehouse.runtime.session import failing_in_short, open_session
from cdc_lakehouse.sql import identifier

CELL = 60  # characters of a value in a table


@dataclass(frozen=True)
class Answer:
    """The first rows of a result, each value as the text that Spark writes; NULL is None."""

    schema: StructType
    rows: list[list[str | None]]
    is_complete: bool

    def document(self) -> dict[str, Any]:
        """Return what a program reads: names and types of the columns, and rows in their order.

        A row is a list, for two columns may have one name.
        """
        kinds = [field.dataType for field in self.schema]
        return {
            "columns": [{"name": f.name, "type": f.dataType.simpleString()} for f in self.schema],
            "rows": [[exact(v, k) for v, k in zip(row, kinds, strict=True)] for row in self.rows],
            "is_complete": self.is_complete,
        }

    def csv(self) -> str:
        """Return CSV with a header; NULL is an empty field, an empty text is ""."""
        lines: list[Sequence[str | None]] = [self.schema.names, *self.rows]
        return "\n".join(",".join(map(_csv_field, line)) for line in lines)

    def text(self) -> str:
        """Return a table; nothing of a statement that has no result."""
        return text_table(self.schema.names, self.rows, CELL) if self.schema.names else ""


def run_query(sql: str, rows: int, is_whole: bool) -> Answer:
    """Run one statement and return up to `rows` rows of its result.

    Args:
        is_whole: return values of any length; else only as much as a table shows.

    Raises:
        LakehouseError: there are no tables yet, or Spark refuses the statement.
    """
    with tables_session() as spark:
        frame = spark.sql(sql)
        found = _fetch(frame, rows + 1, limit=None if is_whole else CELL)
        return Answer(frame.schema, found[:rows], len(found) <= rows)


def _csv_field(text: str | None) -> str:
    if text is None:
        return ""
    return '"' + text.replace('"', '""') + '"' if re.search('[",\r\n]|^$', text) else text


def _fetch(frame: DataFrame, rows: int, limit: int | None) -> list[list[str | None]]:
    """Return the first rows of a result, each value as Spark writes it.

    Of each value come a few characters more than `limit`, for it may be larger than memory.
    """
    names = frame.columns
    if len({name.lower() for name in names}) < len(names):  # as two columns of a query may be
        frame = frame.toDF(*(f"c{n}" for n in range(len(names))))
    texts = [_text(field, limit) for field in frame.schema]
    return [list(row) for row in frame.select(*texts).limit(rows).collect()]


def _text(field: StructField, limit: int | None) -> Column:
    column = F.col(identifier(field.name))
    if isinstance(field.dataType, BinaryType):
        return F.lower(F.hex(column if limit is None else F.substring(column, 1, limit)))
    if isinstance(field.dataType, ArrayType | MapType | StructType):
        text = F.to_json(column, {"ignoreNullFields": "false", **INSIDE})
    else:
        text = column.cast("string")
    return text if limit is None else F.substring(text, 1, limit + 1)


@contextmanager
def tables_session() -> Iterator[SparkSession]:
    """Open Spark on the tables of the lakehouse, or use that of `lakehouse serve`.

    Unless it is served, or its metastore shared, no other process may use the tables meanwhile.

    Raises:
        LakehouseError: there are no tables yet, they are in use, or Spark fails in the block.
    """
    if not warehouse_path("bronze", bronze.MESSAGES).exists():
        raise LakehouseError(
            f"{lakehouse_dir()} has no tables yet. "
            "Run `lakehouse ingest files PATH`, then `dbt build`."
        )
    busy = "Wait for it to end. Several use it at once where `lakehouse serve` holds it."
    with ExitStack() as stack:
        if served := join_or_keep():
            stack.callback(served.close)
            stack.enter_context(failing_in_short())
            spark = served.spark
        else:
            stack.enter_context(hold_tables(busy, to_write=False))
            stack.enter_context(failing_in_short())
            spark = open_session(metastore=True)
            register_functions(spark, project_folder())  # views ask them
        bronze.attach_tables(spark)
        yield spark.newSession()
