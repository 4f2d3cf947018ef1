"""Find the source tables that a gold model reads: its `from` or its `where` names them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import TypeVar

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from cdc_lakehouse.engine.projection import Spark4, text_of
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.sql import quoted

IMAGES = ("silver", "row_images")

# The values of a condition; one that asks more than the names of a table can have any of them.
Tri = bool | None
Truth = frozenset[Tri]
ANY: Truth = frozenset({True, False, None})
# Patterns that mean the same to Java and to Python.
COMMON_PATTERN = re.compile(r"(?:[\w^$.*+?()|\[\] @/:,;-]|\\\W)*", re.ASCII)


@dataclass(frozen=True)
class SourceTable:
    """A table of the source, by its names; a part that its format does not send is None."""

    database: str | None
    schema: str | None
    table: str | None

    @property
    def columns(self) -> dict[str, str | None]:
        """The values that silver's columns with names of a table have for this one."""
        return {
            "database_name": self.database,
            "schema_name": self.schema,
            "table_name": self.table,
            "source_table": self.name,
        }

    @property
    def name(self) -> str:
        """The parts of its name with dots between them, as gold tables have it."""
        parts = (self.database, self.schema, self.table)
        return ".".join(part for part in parts if part is not None)


def split_names(text: str, separator: str) -> list[str]:
    """Return the names in a text, each as it is or in backticks.

    Raises:
        LakehouseError: a name is empty or its backticks are not closed.
    """
    return [_unquoted(name) for name in _written_names(text, separator)]


def _written_names(text: str, separator: str) -> list[str]:
    name = rf"(?:`(?:[^`]|``)+`|[^`{re.escape(separator)}]+)"
    if not re.fullmatch(rf"{name}(?:{re.escape(separator)}{name})*", text, re.DOTALL):
        raise LakehouseError(
            f"{text!r} are no names with {separator!r} between them. A name that holds one "
            "stands in backticks: `a.b`."
        )
    return re.findall(name, text, re.DOTALL)


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name[0] == "`" else name


def rows_of_tables(names: Sequence[str]) -> str:
    """Return the condition that a row of silver.row_images is of one of some tables.

    Args:
        names: as `_source_table` has them: DB.TABLE, DB.SCHEMA.TABLE. In a part, `*` is any text;
            one in backticks is as it is.

    Raises:
        LakehouseError: there is no name, or one that is no name of a table.
    """
    if not names:
        raise LakehouseError("row_images() names no table: row_images('shop.orders').")
    return " or ".join(f"({is_named(name)})" for name in names)


def parts_of_name(name: str) -> list[str]:
    """Return the parts of a name that a model gives, each as it is written.

    Raises:
        LakehouseError: it is no name of a table.
    """
    parts = _written_names(name, ".")
    if len(parts) > 3:
        raise LakehouseError(f"{name}: no table has more than three names.")
    return parts


def is_named(name: str) -> str:
    """Return the condition that a row of silver.row_images is of a table of this name."""
    parts = parts_of_name(name)
    table = _is_like_part("table_name", parts[-1])
    columns = ("database_name", "schema_name")
    if len(parts) == 3:
        return " and ".join([*map(_is_like_part, columns, parts), table])
    if len(parts) == 1:
        return " and ".join([*(f"{column} is null" for column in columns), table])
    # Some formats send no schema, others no database.
    one, other = (_is_like_part(column, parts[0]) for column in columns)
    return f"({one} and schema_name is null or database_name is null and {other}) and {table}"


def _is_like_part(column: str, part: str) -> str:
    if not is_pattern(part):
        return f"{column} = {quoted(_unquoted(part))}"
    return f"{column} rlike {quoted(pattern_of(part, '.*'))}"


def is_pattern(part: str) -> bool:
    """Tell whether a part of a name, as it is written, has a `*` for any text."""
    return "*" in part and part[0] != "`"


def pattern_of(part: str, star: str) -> str:
    """Return the regular expression of a part of a name, with another for each `*`."""
    return f"^{star.join(map(re.escape, part.split('*')))}$"


def tables_read(sql: str) -> Callable[[SourceTable], bool]:
    """Return a function that tells whether a query over silver.row_images can read a table.

    The query reads those of which its `where` can be true: it has to select from row_images in one
    place, first in its `from`. Any other query can read every table, and so can one that the parser
    does not know.
    """
    where = _condition(sql)
    if where is None:
        return lambda table: True
    return lambda table: True in _truth(where, table.columns)


def reads_by_pattern(sql: str) -> bool:
    """Tell whether a query over silver.row_images reads tables that nobody has named.

    Its condition has a pattern of names. Of one that is not known nothing is told.
    """
    condition = _condition(sql)
    patterns = condition.find_all(exp.Like, exp.RegexpLike) if condition else ()
    names = SourceTable(None, None, None).columns
    return any(c.name.lower() in names for each in patterns for c in each.find_all(exp.Column))


def _condition(sql: str) -> exp.Expr | None:
    """The condition on the rows of row_images; None if it is not known."""
    try:
        query = sqlglot.parse_one(sql, read=Spark4)
    except SqlglotError:
        return None
    found = [t for t in query.find_all(exp.Table) if (t.db, t.name) == IMAGES]
    if len(found) != 1 or not isinstance(found[0].parent, exp.From):
        return None
    select = found[0].parent.parent
    where = select and select.args.get("where")
    if select is None or where is None or select.args.get("joins") or select.args.get("laterals"):
        return None
    condition: exp.Expr = where.this
    return condition


def _truth(condition: exp.Expr, columns: dict[str, str | None]) -> Truth:
    """The values that a condition can have for rows of a table, by SQL's logic of three values."""

    def both(one: exp.Connector, combine: Callable[[Tri, Tri], Tri]) -> Truth:
        sides = product(_truth(one.left, columns), _truth(one.right, columns))
        return frozenset(combine(left, right) for left, right in sides)

    match condition:
        case exp.Paren():
            return _truth(condition.this, columns)
        case exp.And():
            return both(condition, _and)
        case exp.Or():
            return both(condition, _or)
        case exp.Not():
            return frozenset(_not(value) for value in _truth(condition.this, columns))
        case exp.Boolean():
            return frozenset({condition.this})
    try:
        return frozenset({_compare(condition, columns)})
    except _Unknown:
        return ANY


_Answer = TypeVar("_Answer")


class _Unknown(Exception):
    """An expression asks more than the names of a table."""


def _compare(condition: exp.Expr, columns: dict[str, str | None]) -> bool | None:
    def value(expression: exp.Expr) -> str | None:
        return _value(expression, columns)

    match condition:
        case exp.NullSafeEQ():
            return value(condition.left) == value(condition.right)
        case exp.EQ():
            return _known(lambda a, b: a == b, value(condition.left), value(condition.right))
        case exp.NEQ():
            return _known(lambda a, b: a != b, value(condition.left), value(condition.right))
        case exp.Is() if isinstance(condition.expression, exp.Null):
            return value(condition.this) is None
        case exp.In() if condition.expressions and not condition.args.get("query"):
            one = value(condition.this)
            equal = (
                _known(lambda a, b: a == b, one, value(each)) for each in condition.expressions
            )
            return reduce(_or, equal)
        case exp.Like():
            return _known(_is_like, value(condition.this), value(condition.expression))
        case exp.RegexpLike():
            return _known(_matches, value(condition.this), value(condition.expression))
    raise _Unknown


def _value(expression: exp.Expr, columns: dict[str, str | None]) -> str | None:
    match expression:
        case exp.Paren():
            return _value(expression.this, columns)
        case exp.Null():
            return None
        case exp.Lower():
            return _known(str.lower, _value(expression.this, columns))
        case exp.Upper():
            return _known(str.upper, _value(expression.this, columns))
        case exp.Column() if expression.name.lower() in columns:
            return columns[expression.name.lower()]
    text = text_of(expression)
    if text is None:
        raise _Unknown
    return text


def _known(function: Callable[..., _Answer], *values: str | None) -> _Answer | None:
    """The result of a function; null if an argument is null."""
    return None if None in values else function(*values)


def _is_like(text: str, pattern: str) -> bool:
    if "\\" in pattern:
        raise _Unknown
    wildcards = {"%": ".*", "_": "."}
    expression = "".join(wildcards.get(each) or re.escape(each) for each in pattern)
    return re.fullmatch(expression, text, re.DOTALL) is not None


def _matches(text: str, pattern: str) -> bool:
    if not COMMON_PATTERN.fullmatch(pattern):
        raise _Unknown
    return re.search(pattern, text) is not None


def _and(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: bool | None, right: bool | None) -> bool | None:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value
