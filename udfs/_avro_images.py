"""Row images of a decoded record: their columns, and what an update carries of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any

from udfs._avro_refused import Refused, reason

# {column: canonical text}.
Image = dict[str, str | None]


def field_names(fields: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the columns that `fields` names, and refuse one that it names twice."""
    names = [field["name"] for field in fields]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise Refused("wrong_type", f"fields names the column {twice[:100]!r} more than once")
    return names


def check_length(image: Sized, names: Sequence[str], part: str) -> None:
    """Refuse an image with more values than the table has columns."""
    if len(image) > len(names):
        detail = f"{part} has {len(image)} values for {len(names)} fields"
        raise Refused("wrong_type", detail)


def refused_column(error: Exception, name: str | None, part: str) -> Refused:
    """Return the refusal of an image whose column `name` raised `error`."""
    code, detail = error.args if isinstance(error, Refused) else ("wrong_type", reason(error))
    where = part if name is None else f"column {name[:100]!r} of {part}"
    return Refused(code, f"{where}: {detail}")


def completed(
    operation: str,
    names: Sequence[str] | None,
    before: Image | None,
    before_is_complete: bool | None,
    after: Image | None,
    after_is_complete: bool | None,
) -> tuple[Image | None, bool | None]:
    """Return the after image of an update with what only the before image carries: all of its
    columns if that is complete, or if the update changed none of them."""
    is_partial = operation == "UPDATE" and after_is_complete is False and before_is_complete
    if is_partial and names is not None and before is not None and after is not None:
        return {name: (after if name in after else before)[name] for name in names}, True
    if operation == "UPDATE" and after == {} and before:
        return dict(before), before_is_complete
    return after, after_is_complete
