"""Give columns of a stored table a wider type in place, without a rebuild.

Delta then reads the files of the narrower type as they are. A widened table has to hold what a
rebuild would give it. So nothing else of the model may have changed, no stored value may have been
too big for the narrower type, and the same text has to give the same value: 0.1 as a `float` is
another number than as a `double`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cdc_lakehouse.delta.statements import set_properties
from cdc_lakehouse.engine.columns import Column
from cdc_lakehouse.engine.gold_model import GoldModel
from cdc_lakehouse.engine.rebuilds import DEFINITION
from cdc_lakehouse.sql import quoted

ENABLED = "delta.enableTypeWidening"
# Types of numbers without a fraction: how Spark's JSON names them, and SQL; and the digits of each.
WHOLE = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
DIGITS = {"byte": 10, "short": 10, "integer": 10, "long": 20}


@dataclass(frozen=True)
class Widened:
    """A column that gets a wider type than the stored one, which SQL writes as `stored`."""

    column: Column
    stored: str


def widened_columns(
    model: GoldModel,
    stored: Mapping[str, Any],
    wanted: Mapping[str, Any],
    definition: str | None,
) -> tuple[Widened, ...]:
    """Return the columns that get a wider type in place; none if the table has to be rebuilt.

    Args:
        stored, wanted: the types of all columns that the table has and should have, by name, as
            Spark's JSON writes them.
        definition: what the table says of the model that it was built from.
    """
    if stored.keys() != wanted.keys():
        return ()
    changed = [column for column in model.stored if stored[column.name] != wanted[column.name]]
    if not all(_can_follow(model, c, stored[c.name], wanted[c.name]) for c in changed):
        return ()
    found = tuple(Widened(c, WHOLE.get(stored[c.name], stored[c.name])) for c in changed)
    return found if definition in tuple(_narrower_definitions(model, found)) else ()


def _can_follow(model: GoldModel, column: Column, stored: Any, wanted: Any) -> bool:
    is_plain = isinstance(stored, str) and isinstance(wanted, str)
    if not is_plain or column.name in model.options.values["cluster_by"]:
        return False
    order = list(WHOLE)
    if stored in WHOLE and wanted in WHOLE:
        return order.index(stored) < order.index(wanted)
    if column.name in model.key_names:
        return False
    now = _decimal(wanted)
    if now and stored in DIGITS:
        return now[0] - now[1] >= DIGITS[stored]
    before = _decimal(stored)
    return bool(now and before and now[0] - before[0] >= now[1] - before[1] >= 0)


def _decimal(data_type: str) -> tuple[int, int] | None:
    found = re.fullmatch(r"decimal\((\d+),(\d+)\)", data_type)
    return (int(found[1]), int(found[2])) if found else None


def _narrower_definitions(model: GoldModel, widened: Sequence[Widened]) -> Iterator[str]:
    """The definitions of the same model with the stored types, as a person may write them."""
    for comma in (",", ", "):
        sql = model.sql
        for each in widened:
            sql = _cast_of(each.column).sub(rf"\g<1>{each.stored.replace(',', comma)})", sql)
        yield replace(model, sql=sql).definition


def _cast_of(column: Column) -> re.Pattern[str]:
    """A pattern of the cast of a column to its type."""
    spaced = r"\s*".join(map(re.escape, re.findall(r"\w+|\W", column.data_type.replace(" ", ""))))
    text = re.escape(f"cast(image[{quoted(column.source)}] as ")
    return re.compile(rf"({text}){spaced}\)", re.IGNORECASE)


def unfit_values(
    table: str, without_key: str, widened: Sequence[Widened], key: Sequence[str]
) -> str:
    """Return the query of whether a value did not fit one of the narrower types.

    Args:
        table: the stored table.
        without_key: the view of the changes whose key does not fit.
        key: the columns of the key.
    """
    names = ", ".join(each.column.literal for each in widened)
    query = f"select 1 from {table} where exists(_problems, problem -> problem.column in ({names}))"
    if any(each.column.name in key for each in widened):
        query += f" union all select 1 from {without_key}"
    return f"{query} limit 1"


def widening(table: str, model: GoldModel, widened: Sequence[Widened]) -> tuple[str, ...]:
    """Return the statements that widen columns of a table; the last notes its model."""
    if not widened:
        return ()
    return (
        set_properties(table, {ENABLED: "true"}),
        *(
            f"alter table {table} alter column {w.column.sql} type {w.column.data_type}"
            for w in widened
        ),
        set_properties(table, {DEFINITION: model.definition}),
    )
