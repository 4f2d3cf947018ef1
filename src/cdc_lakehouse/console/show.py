"""Print the tables of the lakehouse, and the answers to queries, as plain text."""

import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from textwrap import wrap

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, MapType, StructField, StructType

from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.console.text_table import text_table
from cdc_lakehouse.delta.log import bytes_since, count_rows, is_table, tables_in
from cdc_lakehouse.errors import LakehouseError, short_message
from cdc_lakehouse.runtime.functions import register_functions
from cdc_lakehouse.runtime.locks import hold_tables
from cdc_lakehouse.runtime.paths import lakehouse_dir, warehouse_path
from cdc_lakehouse.runtime.project import project_folder
from cdc_lakehouse.runtime.served import join_served
from cdc_lakehouse.runtime.session import (
    FEW_STORED_BYTES,
    compile_plans,
    ended_java,
    failing_in_short,
    open_session,
)
from cdc_lakehouse.sql import identifier

# What follows asks silver.events alone: the views over it take seconds to plan.
CHANGES = """select topic, offset, operation, concat_ws('.', database_name, table_name) as `table`,
    after, committed_at from silver.events where kind = 'row_change'
    order by committed_at desc, topic, offset, row_number"""
MESSAGES = """select topic, partition, count_if(row_number = 0) as messages,
    count_if(kind = 'row_change') as row_changes,
    count_if(kind = 'schema_change') as schema_changes,
    count_if(kind = 'truncate') as truncates, count_if(kind = 'heartbeat') as heartbeats,
    count_if(kind in ('transaction_begin', 'transaction_end')) as transaction_markers,
    count_if(kind = 'control') as controls, count_if(kind = 'rejected') as rejected
    from silver.events group by topic, partition order by topic, partition"""
REJECTED = """select topic, reject_reason, messages, first_offset, last_offset, first_detail
    from silver.rejected_by_reason order by topic, reject_reason"""
CELL = 60  # characters of a value in a table
GOLD_TABLES = 20  # that an overview shows rows of
COUNTED = 1_000  # rows of a gold table that an overview counts
MORE = """Type next:
  lakehouse show gold.gold_problems            values that do not fit, changes without a key
  lakehouse query "select * from silver.message_accounting"   what became of the messages"""


def show_tables(spark: SparkSession, rows: int = 5) -> bool:
    """Print the number of rows of the tables, and the first rows that an analyst looks at.

    What cannot be shown costs its own paragraph.

    Returns:
        Whether all could be shown.

    Raises:
        LakehouseError: there are no tables yet.
    """
    layers = filter(spark.catalog.databaseExists, ("bronze", "silver", "gold"))
    names = [(layer, name) for layer in layers for name in _tables(spark, layer)]
    if ("silver", "events") not in names:
        raise LakehouseError(f"{lakehouse_dir()} holds bronze only. Run `dbt build`.")
    compile_plans(spark, _holds_much())
    gold = [name for layer, name in names if layer == "gold" and name != "gold_problems"]
    paragraphs = [
        ("Tables", lambda title: _counts(spark, title, names)),
        (
            "silver.events, the latest row changes",
            lambda title: _rows(title, spark.sql(CHANGES), rows, 32),
        ),
        *(
            (f"gold.{name}", lambda title, name=name: _gold_table(spark, title, name, rows))
            for name in gold[:GOLD_TABLES]
        ),
        ("silver.events, by topic", lambda title: _rows(title, spark.sql(MESSAGES), 50)),
        (
            "silver.rejected_by_reason",
            lambda title: _rows(title, spark.sql(REJECTED), 50, 44),
        ),
    ]
    with ThreadPoolExecutor(2) as pool:  # planning takes one core, and most of the time
        are_shown = []
        for text, is_shown in pool.map(_paragraph, *zip(*paragraphs, strict=True)):
            print(f"{text}\n")
            are_shown.append(is_shown)
    if left_out := gold[GOLD_TABLES:]:
        print(f"gold has {len(left_out):,} more tables, from {left_out[0]} to {left_out[-1]}.")
    print(MORE)
    return all(are_shown)


def run_query(sql: str, rows: int, csv: bool = False) -> None:
    """Run one statement and print up to `rows` rows of its result.

    Args:
        csv: print CSV with a header; NULL is an empty field, an empty text is "".

    Raises:
        LakehouseError: there are no tables yet, or Spark refuses the statement.
    """
    with tables_session() as spark:
        header, cells = _fetch(spark.sql(sql), rows + 1, limit=None if csv else CELL)
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
    frame: DataFrame, rows: int, limit: int | None
) -> tuple[list[str], list[list[str | None]]]:
    """Return the names of a result's columns and its first rows, each value as Spark writes it.

    Of each value come a few characters more than `limit`, for it may be larger than memory.
    """
    names = frame.columns
    if len({name.lower() for name in names}) < len(names):  # as two columns of a query may be
        frame = frame.toDF(*(f"c{n}" for n in range(len(names))))
    texts = [_text(field, limit) for field in frame.schema]
    return names, [list(r) for r in frame.select(*texts).limit(rows).collect()]


def _text(field: StructField, limit: int | None) -> Column:
    column = F.col(identifier(field.name))
    if isinstance(field.dataType, BinaryType):
        return F.lower(F.hex(column if limit is None else F.substring(column, 1, limit)))
    if isinstance(field.dataType, ArrayType | MapType | StructType):
        text = F.to_json(column, {"ignoreNullFields": "false"})
    else:
        text = column.cast("string")
    return text if limit is None else F.substring(text, 1, limit + 1)


def _tables(spark: SparkSession, schema: str) -> list[str]:
    found = spark.sql(f"show tables in {schema}").collect()
    return sorted(row.tableName for row in found if not row.isTemporary)


def _paragraph(title: str, text: Callable[[str], str]) -> tuple[str, bool]:
    """Return the text of a paragraph and True, or why there is none and False."""
    try:
        return text(title), True
    except (PySparkException, Py4JError) as error:
        if ended_java(error):
            raise
        return f"{title}\ncannot be shown: {short_message(error)}", False


def _rows(title: str, frame: DataFrame, rows: int, limit: int = 26) -> str:
    return f"{title}\n{text_table(*_fetch(frame, rows, limit), limit)}"


def _counts(spark: SparkSession, title: str, names: list[tuple[str, str]]) -> str:
    """Return how many rows the Delta tables have by their logs, and the names of the views."""
    counted, views = [], []
    for layer, name in names:
        path = warehouse_path(layer, name)
        if is_table(path):
            counted.append([f"{layer}.{name}", f"{count_rows(spark, path):,}"])
        elif layer != "gold":  # gold has a paragraph for each
            views.append(f"{layer}.{name}")
    text = f"{title}\n{text_table(['table', 'rows'], counted)}"
    return "\n".join([text, *wrap(f"Views: {', '.join(views)}", 100)]) if views else text


def _gold_table(spark: SparkSession, title: str, name: str, rows: int) -> str:
    """Return how many rows a gold table has, if they are few, and the first of them."""
    table = f"gold.{identifier(name)}"
    fields = spark.table(table).schema.fields
    fields = [field for field in fields if not field.name.startswith("_")] or fields
    ordered = [
        identifier(field.name)
        for field in fields
        if not re.search("map<|variant", field.dataType.simpleString())
    ]
    # One text, for Spark takes a tenth of a second to analyse each further step.
    order = f" order by {', '.join(ordered[:2])}" if ordered else ""
    columns = ", ".join(identifier(field.name) for field in fields)
    frame = spark.sql(f"select {columns} from {table}{order}")
    header, cells = _fetch(frame, COUNTED + 1, 26)
    count = f"{len(cells):,}" if len(cells) <= COUNTED else f"more than {COUNTED:,}"
    noun = "row" if len(cells) == 1 else "rows"
    return f"{title}, {count} {noun}\n{text_table(header, cells[:rows], 26)}"


def _holds_much() -> bool:
    """Tell whether there is so much to read that plans are worth compiling."""
    gold = warehouse_path("gold_storage", "x").parent
    tables = [warehouse_path("silver", "events"), *tables_in(gold)]
    sizes = [bytes_since(path, None) for path in tables]
    return None in sizes or sum(sizes) > FEW_STORED_BYTES


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
        if served := join_served():
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
