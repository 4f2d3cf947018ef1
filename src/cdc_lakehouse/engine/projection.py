"""Find in the SQL of a gold model from which source columns each of its columns is made."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, build_scope

from cdc_lakehouse.sql import quoted

# The column of silver.row_images that maps the name of a source column to its canonical text.
IMAGE = "image"
# The function that gives members of an image other names; its result is an image, too.
RENAMES = "transform_keys"


class Spark4(Spark):
    """Spark 4, in which two single quotes inside a text are one."""

    class Tokenizer(Spark.Tokenizer):
        STRING_ESCAPES: ClassVar = ["\\", "'"]


def columns_read(sql: str) -> dict[str, list[str]]:
    """Return the source columns that each column of a query over silver.row_images is made from.

    Args:
        sql: the query in Spark's SQL, with subqueries and common table expressions or without.

    Returns:
        The names, sorted, by the name of the query's column: none where it reads no member of
        `image` or the map as a whole. A column that comes with a `*`, and every column of a query
        that the parser does not know, is left out.
    """
    try:
        scope = build_scope(sqlglot.parse_one(sql, read=Spark4))
    except SqlglotError:
        return {}
    if scope is None:
        return {}
    read: dict[str, set[str]] = {}
    for select in _selects(scope):
        for column in _columns_of(select):
            if not column.is_star:
                read.setdefault(column.alias_or_name, set()).update(_members(column, select))
    return {column: sorted(names) for column, names in read.items()}


def expressions_of(sql: str) -> dict[str, exp.Expr]:
    """Return what each column of a query over silver.row_images is, in columns of that.

    One that is passed on by subqueries is what the innermost makes it. A query of several selects,
    or that the parser does not know, tells nothing.
    """
    try:
        scope = build_scope(sqlglot.parse_one(sql, read=Spark4))
    except SqlglotError:
        return {}
    selects = _selects(scope) if scope else []
    if len(selects) != 1:
        return {}
    (select,) = selects
    return {c.alias_or_name: _expression(c.unalias(), select) for c in _columns_of(select)}


def _expression(expression: exp.Expr, scope: Scope) -> exp.Expr:
    if not isinstance(expression, exp.Column):
        return expression
    origins = list(_origins(expression, scope))
    if len(origins) == 1:
        source, found = origins[0]
        return _expression(found.unalias(), source)
    is_own = not origins and expression.table in ("", "row_images")
    return exp.column(expression.name.lower()) if is_own else exp.Null()


def _selects(scope: Scope) -> list[Scope]:
    """The SELECTs whose rows a scope has: those of all sides of a UNION."""
    if isinstance(scope.expression, exp.SetOperation):
        return [select for side in scope.set_operation_scopes for select in _selects(side)]
    return [scope]


def _columns_of(select: Scope) -> list[exp.Expr]:
    """The expressions that a SELECT gives."""
    query = select.expression
    return query.selects if isinstance(query, exp.Selectable) else []


def _members(expression: exp.Expr, scope: Scope) -> Iterator[str]:
    """The names of the members of `image` that an expression reads, however far below."""
    if isinstance(expression, exp.Bracket) and _is_image(expression.this, scope):
        name = text_of(expression.expressions[0])
        if name is not None:
            yield name
    elif isinstance(expression, exp.Column):
        if expression.table == IMAGE:
            yield expression.name
        for source, column in _origins(expression, scope):
            yield from _members(column, source)
    else:
        for part in expression.iter_expressions():
            yield from _members(part, scope)


def _is_image(expression: exp.Expr, scope: Scope) -> bool:
    if isinstance(expression, exp.Anonymous) and expression.name.lower() == RENAMES:
        return _is_image(expression.expressions[0], scope)
    if not isinstance(expression, exp.Column):
        return False
    origins = list(_origins(expression, scope))
    if not origins:
        return expression.name == IMAGE
    return any(_is_image(column.unalias(), source) for source, column in origins)


def _origins(column: exp.Column, scope: Scope) -> Iterator[tuple[Scope, exp.Expr]]:
    """The expressions of subqueries and common table expressions that a column stands for."""
    for name, (_, source) in scope.selected_sources.items():
        if not isinstance(source, Scope) or column.table not in ("", name):
            continue
        for select in _selects(source):
            for found in _columns_of(select):
                if found.alias_or_name == column.name:
                    yield select, found
                elif found.is_star:
                    yield from _origins(exp.column(column.name), select)


def text_of(expression: exp.Expr) -> str | None:
    """The value of a text literal, also of one in several parts; None of any other expression."""
    if isinstance(expression, exp.Concat):
        parts = [text_of(part) for part in expression.expressions]
        known = [part for part in parts if part is not None]
        return "".join(known) if len(known) == len(parts) else None
    is_text = isinstance(expression, exp.RawString) or (
        isinstance(expression, exp.Literal) and expression.is_string
    )
    return expression.name if is_text else None


def text_under(image: str, names: Sequence[str]) -> str:
    """Return the SQL of the text that an image has under the first of a column's names."""
    texts = [f"{image}[{quoted(name)}]" for name in names]
    return texts[0] if len(texts) == 1 else f"coalesce({', '.join(texts)})"


def carries_some(names: Sequence[str]) -> str:
    """Return the SQL condition that an image carries something of what a column is made from."""
    if not names:
        return "true"
    return "(" + " or ".join(f"map_contains_key(_image, {quoted(name)})" for name in names) + ")"


def carries_all(reads: Mapping[str, Sequence[str]]) -> str:
    """Return the SQL condition that an image carries something for each column of a table.

    Most images have just the columns that a model reads, in the source's order: that is tested
    first, and names are looked up as a set, for a wide table has a thousand.
    """
    single = list(dict.fromkeys(names[0] for names in reads.values() if len(names) == 1))
    several = [carries_some(names) for names in reads.values() if len(names) > 1]
    if single:
        wanted = f"array({', '.join(map(quoted, single))})"
        held = f"size(array_except({wanted}, map_keys(_image))) = 0"
        several.insert(0, f"(map_keys(_image) = {wanted} or {held})")
    return " and ".join(several) or "true"


def columns_not_carried(reads: Mapping[str, Sequence[str]], columns: Iterable[str]) -> str:
    """Return the SQL map of the columns that an image does not carry, each to an empty sequence."""
    wanted = [column for column in columns if reads.get(column)]
    own = [column for column in wanted if list(reads[column]) == [column]]
    texts = f"cast(array({', '.join(map(quoted, own))}) as array<string>)"
    names = f"array_except({texts}, map_keys(_image))"
    entries = [
        f"if({carries_some(reads[column])}, null, {quoted(column)})"
        for column in wanted
        if column not in own
    ]
    if entries:
        others = f"array_compact(cast(array({', '.join(entries)}) as array<string>))"
        names = f"array_union({names}, {others})"
    return f"map_from_entries(transform({names}, name -> struct(name, '')))"


def is_carried_in_part(names: Sequence[str]) -> str:
    """Return the SQL condition that an update carries a part of what a column is made from.

    That part has a value, so that an expression of all of them would have to know the others.
    """
    absent = " or ".join(f"not map_contains_key(_image, {quoted(name)})" for name in names)
    texts = ", ".join(f"_image[{quoted(name)}]" for name in names)
    return f"_operation = 'update' and ({absent}) and coalesce({texts}) is not null"


def is_in_doubt(names: Sequence[str], reads: Mapping[str, Sequence[str]]) -> str:
    """Return the SQL condition that a column is made from a part only, of an image that is one.

    An image that has all other columns of the table may well lack a member that the source does not
    have, such as the old name of a column. If it lacks others, the member may have a value.

    Args:
        names: what the column is made from.
        reads: what each column of the table is made from.
    """
    absent = " or ".join(f"not map_contains_key(_image, {quoted(name)})" for name in names)
    return (
        f"_operation = 'update' and ({absent}) and {carries_some(names)}"
        f" and not ({carries_all(reads)})"
    )
