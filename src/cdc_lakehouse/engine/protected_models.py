"""Find the lines of seeds/protected_columns.csv for the source tables that a gold model reads."""

import re
from collections.abc import Callable
from itertools import product

from cdc_lakehouse.engine.former_names import columns_of_images
from cdc_lakehouse.engine.gold_model import GoldModel
from cdc_lakehouse.engine.source_tables import SourceTable
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.protection import Line, Protection

# A text of the model's SQL, and whether it is the name of a column in `image['name']`.
TEXT = re.compile(r"(\[?)'([^'\\]*)'")
# The expressions that do more than compare a name with a text.
PATTERNS = re.compile(r"\b(?:i?like|rlike|regexp\w*|lower|upper)\b", re.IGNORECASE)
MOST_TEXTS = 12
OF_NO_TABLE = "\0"
# The names of a table: database, schema and table.
Names = tuple[str, str | None, str]


def with_protection(model: GoldModel, protection: Protection) -> tuple[str, ...]:
    """Return what of the lines decides the content of a model: nothing if none is of its tables.

    Raises:
        LakehouseError: a line masks or drops its key, or protects a column under one of its names
            only; the text names the line.
    """
    lines = protection.lines
    if not lines:
        return ()
    # The names of columns that the source has renamed are none of tables.
    sql = model.sql.replace(columns_of_images(model.columns), "*")
    tables = tables_named(sql, model.reads_table)
    _refuse_names_of_one_column(model, lines, tables)
    if tables is not None:
        lines = tuple(x for x in lines if any(x.is_of_table(*names) for names in tables))
        _refuse_without_key(model, lines)
    return (protection.key_number, *(repr(line.rule) for line in lines)) if lines else ()


def tables_named(sql: str, reads_table: Callable[[SourceTable], bool]) -> list[Names] | None:
    """Return the tables (database, schema, table) that a model reads, as its SQL names them.

    Args:
        reads_table: what `tables_read` makes of the SQL.

    Returns:
        None if it may read others: its condition is more than a list of names.
    """
    texts = {text for bracket, text in TEXT.findall(sql) if not bracket}
    texts |= {part for text in texts for part in text.split(".")}
    if PATTERNS.search(sql) or len(texts) > MOST_TEXTS:
        return None

    def reads(database: str, schema: str | None, table: str) -> bool:
        return reads_table(SourceTable(database, schema, table))

    schemas = [None, OF_NO_TABLE, *texts]
    others = [
        (d, s, t)
        for text, s in product([OF_NO_TABLE, *texts], schemas)
        for d, t in ((text, OF_NO_TABLE), (OF_NO_TABLE, text))
    ]
    if any(reads(*names) for names in others):
        return None
    found = [names for names in product(texts, schemas, texts) if reads(*names)]
    # One that names no schema reads the table of each.
    return [(d, None if s == OF_NO_TABLE else s, t) for d, s, t in found] or None


def _refuse_names_of_one_column(
    model: GoldModel, lines: tuple[Line, ...], tables: list[Names] | None
) -> None:
    """Refuse to show a value clear under one name of its column that is protected under another."""
    of_tables: list[Names | None] = [*tables] if tables else [None]
    for column, table in product(model.columns, of_tables):
        counting = {
            name: next((x for x in lines if _is_of(x, table) and x.is_of_column(name)), None)
            for name in (column.source, *column.formerly)
        }
        rules = {line and (line.method, line.layer) for line in counting.values()}
        if len(rules) > 1:
            line = next(filter(None, counting.values()))
            raise LakehouseError(
                f"{line}, but the column {column.name} of {model.name} has the names "
                f"{', '.join(counting)} in the source, and other lines or none protect these. "
                "Give each name a line of the same method and layer."
            )


def _is_of(line: Line, table: Names | None) -> bool:
    return table is None or line.is_of_table(*table)


def _refuse_without_key(model: GoldModel, lines: tuple[Line, ...]) -> None:
    for column in model.key.columns:
        line = next((line for line in lines if line.is_of_column(column.source)), None)
        if line is not None and line.method != "hash":
            raise LakehouseError(
                f"{line}, but {column.source} is a column of the key of {model.name}: rows could "
                "not be told apart. Hash it, or write a line above that hashes it."
            )
