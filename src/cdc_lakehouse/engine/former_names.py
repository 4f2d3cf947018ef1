"""Columns that the source has renamed: an image has each under its newest name or a former one.

`row_images` gives a model images with the newest names, so later steps need no others. If an image
has several names of a column, its newest name counts: another column has taken the former one.
"""

from collections.abc import Iterable, Sequence

from cdc_lakehouse.engine.columns import Column
from cdc_lakehouse.engine.gold_model import GoldModel
from cdc_lakehouse.engine.projection import IMAGE, RENAMES, columns_read
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.sql import quoted


def columns_of_images(columns: Iterable[Column]) -> str:
    """Return what a model selects of silver.row_images, in SQL: `*` where no column was renamed."""
    cases = [case for column in columns for case in _renames(column)]
    if not cases:
        return "*"
    name = f"case {' '.join(cases)} else name end"
    return (
        f"* except ({IMAGE}, key_columns), {RENAMES}({IMAGE}, (name, value) -> {name}) as {IMAGE}, "
        f"transform(key_columns, name -> {name}) as key_columns"
    )


def _renames(column: Column) -> list[str]:
    names = (column.source, *column.formerly)
    return [
        f"when name = {quoted(former)} and not ({_has_one_of(names[:place])})"
        f" then {quoted(column.source)}"
        for place, former in enumerate(names)
        if place
    ]


def _has_one_of(names: Sequence[str]) -> str:
    return " or ".join(f"map_contains_key({IMAGE}, {quoted(name)})" for name in names)


def newest_names(columns: Iterable[Column]) -> dict[str, str]:
    """Return the newest name of each column of the source, by its former names."""
    return {former: column.source for column in columns for former in column.formerly}


def refuse_shared_names(model: str, columns: Sequence[Column]) -> None:
    """Refuse a former name that is also a name of another column: an image may have it of either.

    Raises:
        LakehouseError: there is one; the text names it.
    """
    seen = {column.source: column.name for column in columns}
    for column in columns:
        for former in column.formerly:
            if former in seen:
                raise LakehouseError(
                    f"{model}: {former} is a former name of the column {column.name}, and a name "
                    f"of the column {seen[former]} too. An image with this name alone could be of "
                    "either: take the name, or the other column, out of the model."
                )
            seen[former] = column.name


def refuse_former_reads(model: GoldModel) -> None:
    """Refuse a query in which former names are not what they are declared to be.

    Raises:
        LakehouseError: it does not take its images from row_images('...'), or reads a former name.
    """
    newest = newest_names(model.columns)
    if not newest:
        return
    if columns_of_images(model.columns) not in model.sql:
        raise LakehouseError(
            f"{model.name}: its columns have former names, and it reads silver.row_images by "
            "itself. Write `from {{ row_images('db.table') }}`, which knows them."
        )
    for column, names in columns_read(model.sql).items():
        for name in names:
            if name in newest:
                raise LakehouseError(
                    f"{model.name}: {column} is made from image[{quoted(name)}], a former name of "
                    f"{newest[name]}. Write image[{quoted(newest[name])}], which has the values "
                    "of all of its names."
                )
