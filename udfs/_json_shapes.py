"""Fit a JSON document to the fields that `from_json` reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from udfs._json_values import BLANKS, Refused, Repeating, json_text, kind_of, twice

# Returns the value of a member as `from_json` has to read it.
Fit = Callable[[Any], Any]
# What `from_json` turns into the same text. Integers are: it has them as big as they come.
_PLAIN = frozenset((str, int, bool, type(None)))
_SHAPE_TOKENS = re.compile(r'\s*("[^"]*"|`[^`]*`|\w+|[<>,:])')


class Shape(dict[str, Fit]):
    """{member: function}; a document that has no schema beside it is the value of `row`."""

    row: str | None = None


FitDocument = Callable[[Any, Shape], dict[str, Any]]


def shape_of(fields: str) -> Shape:
    """Return the Shape of the fields of a `from_json`: names with `string`, `map<string, string>`,
    `array<...>` and `struct<...>`; a `comment` says what a string has to be, and that a map may
    be the document, or the only row of a list.

    A function returns the value of a member as `from_json` has to read it, the same object if
    nothing changes.
    """
    tokens = _SHAPE_TOKENS.findall(fields)
    shape = Shape(_shape_of_members(tokens))
    if tokens or not shape:
        raise ValueError(f"cannot read {fields!r} as fields of from_json")
    shape.row = next((name for name, fit in shape.items() if fit is fit_lone_row), None)
    return shape


def _shape_of_members(tokens: list[str]) -> dict[str, Fit]:
    members = {}
    while tokens and tokens[0] != ">":
        name = tokens.pop(0).strip("`")
        if tokens[0] == ":":
            tokens.pop(0)
        members[name] = _shape_of_type(tokens)
        if tokens and tokens[0] == ",":
            tokens.pop(0)
    return members


def _shape_of_type(tokens: list[str]) -> Fit:
    kind = tokens.pop(0).lower()
    if kind == "string":
        expected = "a text"
        if tokens and tokens[0].lower() == "comment":
            expected = tokens[1].strip('"')
            del tokens[:2]
        return _scalar(expected)
    if kind == "map" and "".join(tokens[:5]).lower() == "<string,string>":
        del tokens[:5]
        if tokens[:2] == ["comment", '"or the document"']:
            del tokens[:2]
            return fit_lone_row
        if tokens[:2] == ["comment", '"or a list of one"']:
            del tokens[:2]
            return fit_listed_row
        return fit_row
    if kind not in ("array", "struct") or tokens.pop(0) != "<":
        raise ValueError(f"cannot read the type {kind} of a field of from_json")
    shape = _list(_shape_of_type(tokens)) if kind == "array" else _struct(_shape_of_members(tokens))
    tokens.pop(0)
    return shape


def _scalar(expected: str) -> Fit:
    def fit_scalar(value: Any) -> Any:
        if type(value) in _PLAIN:
            return value
        if isinstance(value, (list, dict)):
            raise misfit(expected, value)
        return str(value)

    return fit_scalar


def _list(fit: Fit) -> Fit:
    def fit_list(values: Any) -> list[Any] | None:
        if values is None:
            return None
        if not isinstance(values, list):
            raise misfit("a list", values)
        fitted, is_changed = [], False
        for index, value in enumerate(values):
            try:
                fitted.append(fit(value))
            except Refused as refused:
                refused.path.append(index)
                raise
            is_changed |= fitted[-1] is not value
        return fitted if is_changed else values

    return fit_list


def _struct(members: Mapping[str, Fit]) -> Fit:
    return lambda value: None if value is None else fit_members(value, members)


def fit_document(found: Any, shape: Shape) -> dict[str, Any]:
    """Return a document as `from_json` has to read it, the same object if nothing changes."""
    if isinstance(found, dict):
        is_row = shape.row and not is_beside_schema(found, shape.row)
        return fit_members({shape.row: found} if is_row else found, shape)
    kind = kind_of(found)
    if isinstance(found, list):
        kind = f"a list of {len(found)}"
    elif isinstance(found, str) and found.lstrip(BLANKS)[:1] in ("{", "["):
        kind = f"a text that holds JSON, which is JSON encoded twice: {found[:50]!r}"
    raise Refused("not_json", f"one JSON object expected, found {kind}")


def is_beside_schema(found: dict[str, Any], name: str) -> bool:
    """Whether a document is a schema and a value, as Kafka Connect's JsonConverter writes them.

    A row may have columns of these names; of its values none is an object.
    """
    if found.keys() != {"schema", name}:
        return False
    schema, value = found["schema"], found[name]
    return isinstance(schema, dict) or (
        schema is None and (value is None or isinstance(value, dict))
    )


def fit_members(value: Any, members: Mapping[str, Fit]) -> dict[str, Any]:
    """Return an object whose members are of `members`, the same object if nothing changes."""
    if not isinstance(value, dict):
        raise misfit("an object", value)
    if type(value) is Repeating:  # the reader of an envelope takes the last one
        raise twice(value)
    changed = {}
    for name, fit in members.items():
        found = value.get(name)
        if found is None:
            continue
        try:
            fitted = fit(found)
        except Refused as refused:
            refused.path.append(name)
            raise
        if fitted is not found:
            changed[name] = fitted
    if not changed:
        return value
    return {name: changed.get(name, value[name]) for name in members if name in value}


def fit_row(row: Any) -> dict[str, Any] | None:
    """Return a row of values (or null), the same object if nothing changes."""
    if row is None:
        return None
    if not isinstance(row, dict):
        raise misfit("an object", row)
    if _PLAIN.issuperset(map(type, row.values())):
        return row
    return {
        name: value if type(value) in _PLAIN else json_text(value) for name, value in row.items()
    }


def fit_lone_row(row: Any) -> dict[str, Any] | None:
    """Return a row of values, which may be the document, as `fit_row` does."""
    return fit_row(row)


def fit_listed_row(row: Any) -> dict[str, Any] | None:
    """Return a row of values, which may be the only one of a list, as `fit_row` does."""
    if not isinstance(row, list):
        return fit_row(row)
    if len(row) != 1:
        raise Refused("wrong_type", f"expected one row, found a list of {len(row)}")
    return fit_row(row[0])


def misfit(expected: str, value: Any) -> Refused:
    """Return the refusal of a value that is not of its field's type."""
    return Refused("wrong_type", f"expected {expected}, found {kind_of(value)}")
