"""The `from` of a gold model: rows of source tables, and columns that tell the tables apart."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cdc_lakehouse.engine.source_tables import (
    SourceTable,
    is_named,
    is_pattern,
    parts_of_name,
    pattern_of,
    rows_of_tables,
    split_names,
)
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.sql import identifier, quoted


def row_images(
    images: object, names: Sequence[str], given: Mapping[str, Any], columns: str = "*"
) -> str:
    """Return what `from` takes for `row_images(...)` of a model.

    Args:
        images: the relation of all row images.
        names: as of `rows_of_tables`.
        given: the arguments by name: `stars`, a column for each star of a name, from the left.
        columns: those of the images, as `columns_of_images` lists them.

    Raises:
        LakehouseError: a name is none, there is another argument, or another number of stars.
    """
    stars, condition = _star_columns(names, given), rows_of_tables(names)
    return f"(select {columns}{stars} from {images} where {condition}) as row_images"


def _star_columns(names: Sequence[str], given: Mapping[str, Any]) -> str:
    unknown = next((each for each in given if each != "stars"), None)
    if unknown:
        raise LakehouseError(f"row_images() has no argument {unknown}; it has stars=['shard'].")
    columns = given.get("stars") or []
    if isinstance(columns, str):
        raise LakehouseError(f"row_images(): stars is a list: stars=['{columns}'].")
    found = {name: stars_of(name) for name in names} if columns else {}
    for name, stars in found.items():
        if len(stars) != len(columns):
            raise LakehouseError(
                f"row_images('{name}'): stars names {len(columns)} columns "
                f"({', '.join(columns)}), and the name has {len(stars)} stars. Give each a column."
            )
    by_star = zip(columns, zip(*found.values(), strict=True), strict=True)
    return "".join(f", {_of_name(found, said)} as {identifier(name)}" for name, said in by_star)


def _of_name(names: Mapping[str, Any], said: Sequence[str]) -> str:
    """What the first name says that is that of a row's table."""
    if len(said) == 1:
        return said[0]
    cases = (f"when {is_named(name)} then {each}" for name, each in zip(names, said, strict=True))
    return f"case {' '.join(cases)} end"


def stars_of(name: str) -> list[str]:
    """What each star of a name matches, in SQL."""
    parts = parts_of_name(name)
    # Some formats send no schema, others no database.
    first = "coalesce(database_name, schema_name)"
    of_more = {2: [first], 3: ["database_name", "schema_name"]}
    columns = [*of_more.get(len(parts), []), "table_name"]
    return [
        f"regexp_extract({column}, {quoted(pattern_of(part, '(.*)'))}, {number})"
        for column, part in zip(columns, parts, strict=True)
        if is_pattern(part)
        for number in range(1, part.count("*") + 1)
    ]


def texts_of_stars(pattern: str, table: SourceTable) -> tuple[str, ...] | None:
    """Return what each `*` of a pattern is in the names of a table; None if it is of others.

    Args:
        pattern: one of the names that `row_images` takes.

    Raises:
        LakehouseError: it is no name of a table.
    """
    parts = parts_of_name(pattern)
    names = [name for name in (table.database, table.schema, table.table) if name is not None]
    if len(parts) != len(names):
        return None
    found: list[str] = []
    for part, name in zip(parts, names, strict=True):
        is_any = is_pattern(part)
        expression = pattern_of(part, "(.*)") if is_any else re.escape(*split_names(part, "."))
        match = re.fullmatch(expression, name, re.DOTALL)
        if not match:
            return None
        found += match.groups()
    return tuple(found)
