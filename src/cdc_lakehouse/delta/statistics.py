"""Compare the least and the greatest values that Delta keeps for the columns of each file."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Extent:
    """Between which values the columns of some rows lie, each column by itself.

    Of a long text Delta keeps a shorter one: as the least one that is not after it, as the greatest
    one that is not before it.
    """

    least: tuple[Any, ...]
    greatest: tuple[Any, ...]

    def overlaps(self, other: "Extent") -> bool:
        """Tell whether a row may lie in both."""
        ends = zip(self.least, self.greatest, other.least, other.greatest, strict=True)
        return all(first <= last and start <= end for start, last, first, end in ends)


def extent_of(file: Mapping[str, Any], columns: Iterable[str]) -> Extent | None:
    """Return the extent of a file that Delta's log names; None if a column has no statistics.

    A column that is null in all rows has none either.
    """
    try:
        kept = json.loads(file["stats"])
        values = [
            tuple(kept[end][column] for column in columns) for end in ("minValues", "maxValues")
        ]
    except (KeyError, TypeError, ValueError):
        return None
    return Extent(*values)


def extents_of(files: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> list[Extent] | None:
    """Return the extents of files; None if one is not known."""
    columns = list(columns)
    found: list[Extent] = []
    for file in files:
        if (extent := extent_of(file, columns)) is None:
            return None
        found.append(extent)
    return found
