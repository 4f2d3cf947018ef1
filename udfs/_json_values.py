"""What the values of a JSON document are, where they are in it, and their text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from json.encoder import encode_basestring
from typing import Any

BLANKS = " \t\r\n"


class Refused(Exception):
    """A value that is not exact: error code, what was found. `path` leads to it from inside."""

    def __init__(self, code: str, found: str) -> None:
        super().__init__(code, found)
        self.path: list[Any] = []

    def detail(self) -> str:
        where, found = place(reversed(self.path)), self.args[1]
        detail = f"field {where[-200:]}: {found}" if where else found
        return detail.encode("utf-8", "backslashreplace").decode()[:900]


class Number(str):
    """A number as it stands in the text; it equals no text."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is Number and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class Repeating(dict[str, Any]):
    """An object that has a key more than once; `twice` is (key, first value, second value)."""

    twice: tuple[str, Any, Any]
    is_ambiguous = False


def twice(value: Repeating, path: Sequence[str | int] = ()) -> Refused:
    """Return the refusal of a Repeating object, `path` leading to it."""
    name, first, second = value.twice
    refused = Refused("duplicate_keys", f"comes twice, as {_short(first)} and {_short(second)}")
    refused.path = [name, *reversed(path)]
    return refused


def walk(found: Any) -> Iterator[tuple[Any, list[str | int]]]:
    """Yield each value of a document, in its order, with the keys and indexes that lead to it, in a
    list that changes as the walk goes on."""
    path: list[str | int] = []
    yield found, path
    open_values = [_members_of(found)]
    while open_values:
        step, value = next(open_values[-1], (None, None))
        if step is None:
            open_values.pop()
            del path[-1:]
            continue
        path.append(step)
        yield value, path
        open_values.append(_members_of(value))


def _members_of(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return iter(value.items())
    return enumerate(value if isinstance(value, list) else ())


def place(path: Iterable[str | int]) -> str:
    """Spell the keys and indexes that lead to a value: data[0].name"""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step[:100]}" for step in path)
    return "".join(steps).removeprefix(".")


def kind_of(value: Any) -> str:
    """Name what a JSON value is."""
    kinds = {str: "a text", bool: "a boolean", list: "a list", type(None): "null"}
    return kinds.get(type(value), "an object" if isinstance(value, dict) else "a number")


def _short(value: Any) -> str:
    return json_text(value)[:50]


# Writes what `fit_document` returns, which has no numbers but integers.
# Values without a shape, like a fraction that no model reads, may be written in any way.
write = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), check_circular=False, default=str
).encode


def json_text(value: Any) -> str:
    """Write a value as JSON without blanks, every number as it stood in the message."""
    if not isinstance(value, (dict, list)):
        return _scalar_text(value)
    text = StringIO()
    _write_into(text.write, value)
    return text.getvalue()


def _write_into(add: Callable[[str], Any], value: Any) -> None:
    if isinstance(value, dict):
        before = "{"
        for name, member in value.items():
            add(before)
            add(encode_basestring(name))
            add(":")
            _write_into(add, member)
            before = ","
        add("}" if value else "{}")
    elif isinstance(value, list):
        before = "["
        for member in value:
            add(before)
            _write_into(add, member)
            before = ","
        add("]" if value else "[]")
    else:
        add(_scalar_text(value))


def _scalar_text(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return encode_basestring(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    return str(value)
