"""Print the tables of the lakehouse, and the answers to queries, as plain text."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, MapType, StructField, StructType

from cdc_lakehouse import bronze
from cdc_lakehouse.errors import LakehouseError, short_message
from cdc_lakehouse.functions import register_functions
from cdc_lakehouse.project import project_folder
from cdc_lakehouse.report import text_table
from cdc_lakehouse.session import ended_java, hold, lakehouse_dir, open_session, warehouse_path

CHANGES = """select topic, offset, operation, concat_ws('.', database_name, table_name) as `table`,
    after, committed_at from silver.row_changes order by committed_at desc, topic, offset"""
ACCOUNTING = """select topic, partition, messages, row_changes, schema_changes, truncates,
    heartbeats, transaction_markers, controls, rejected, repeated_changes
    from silver.message_accounting order by topic, partition"""
REJECTED = """select topic, reject_reason, messages, first_offset, last_offset, first_detail
    from silver.rejected_by_reason order by topic, reject_reason"""
CELL = 60  # characters of a value in a table


def show_lakehouse(rows: int = 5) -> None:
    """Print each table's number of rows, then the first of those that an analyst looks at.

    Raises:
        LakehouseError: there are no tables yet, or Spark cannot read one.
    """
    with tables_session() as spark:
        layers = filter(spark.catalog.databaseExists, ("bronze", "silver", "gold"))
        names = [name for layer in layers for name in _tables(spark, layer)]
        if "silver.events" not in names:
            raise LakehouseError(f"{lakehouse_dir()} holds bronze only. Run `dbt build`.")
        counts = " union all ".join(
            f"select '{n}' as `table`, count(*) as rows from {n}" for n in names
        )
        _print(spark, "Tables and views", counts, len(names), 60)
        _print(spark, "silver.row_changes, the latest", CHANGES, rows, 32)
        for name in (name for name in names if name.startswith("gold.")):
            columns = [f"`{c}`" for c in spark.table(name).columns if not c.startswith("_")]
            order = "1, 2" if len(columns) > 1 else "1"
            _print(spark, name, f"select {', '.join(columns)} from {name} order by {order}", rows)
        _print(spark, "silver.message_accounting", ACCOUNTING, 50)
        _print(spark, "silver.rejected_by_reason", REJECTED, 50, 44)


def run_query(sql: str, rows: int, csv: bool = False) -> None:
    """Run one statement and print up to `rows` rows of its result.

    Args:
        csv: print CSV with a header; NULL is an empty field, an empty text is "".

    Raises:
        LakehouseError: there are no tables yet, or Spark refuses the statement.
    """
    with tables_session() as spark:
        header, cells = _fetch(spark, sql, rows + 1, limit=None if csv else CELL)
    if csv:
        print("\n".join(",".join(map(_csv_field, line)) for line in [header, *cells[:rows]]))
    elif header:
        print(text_table(header, cells[:rows], CELL))
    if len(cells) > rows:
        print(f"lakehouse: only the first {rows:,} rows; --rows gives more.", file=sys.stderr)


def _csv_field(text: str | None) -> str:
    if text is None:
        return ""
    return '"' + text.replace('"', '""') + '"' if re.search('[",\r\n]|^$', text) else text


def _fetch(
    spark: SparkSession, sql: str, rows: int, limit: int | None
) -> tuple[list[str], list[list[str | None]]]:
    """Return the names of a result's columns and its first rows, each value as Spark writes it.

    Of each value come a few characters more than `limit`, for it may be larger than memory.
    """
    frame = spark.sql(sql)
    # Numbered, for two columns of a query may have one name.
    numbered = frame.toDF(*(f"c{n}" for n in range(len(frame.columns)))).limit(rows)
    texts = [_text(field, limit) for field in numbered.schema]
    return frame.columns, [list(r) for r in numbered.select(*texts).collect()]


def _text(field: StructField, limit: int | None) -> Column:
    if isinstance(field.dataType, BinaryType):
        shown = F.col(field.name) if limit is None else F.substring(field.name, 1, limit)
        return F.lower(F.hex(shown))
    if isinstance(field.dataType, ArrayType | MapType | StructType):
        text = F.to_json(field.name, {"ignoreNullFields": "false"})
    else:
        text = F.col(field.name).cast("string")
    return text if limit is None else F.substring(text, 1, limit + 1)


def _tables(spark: SparkSession, schema: str) -> list[str]:
    return sorted(
        f"{schema}.{row.tableName}" for row in spark.sql(f"show tables in {schema}").collect()
    )


def _print(spark: SparkSession, title: str, sql: str, rows: int, limit: int = 26) -> None:
    print(f"{title}\n{text_table(*_fetch(spark, sql, rows, limit), limit)}\n")


@contextmanager
def tables_session() -> Iterator[SparkSession]:
    """Open Spark on the tables of the lakehouse, which no other process may use meanwhile.

    Raises:
        LakehouseError: there are no tables yet, they are in use, or Spark fails in the block.
    """
    if not warehouse_path("bronze", bronze.MESSAGES).exists():
        raise LakehouseError(
            f"{lakehouse_dir()} has no tables yet. "
            "Run `lakehouse ingest files PATH`, then `dbt build`."
        )
    with hold("metastore", "One dbt or query can use it at a time: wait for it to end."):
        try:
            spark = open_session(metastore=True)
            bronze.attach_tables(spark)
            register_functions(spark, project_folder())  # views ask them
            yield spark.newSession()
        except (PySparkException, Py4JError, ConnectionError) as error:
            raise LakehouseError(ended_java(error) or short_message(error)) from None
