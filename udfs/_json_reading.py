"""Read JSON without losing anything: quickly where that is possible, else slowly."""

from __future__ import annotations

import json
import re
import sys
from itertools import chain
from typing import Any, NoReturn

import jiter

from udfs._json_shapes import FitDocument, Shape
from udfs._json_values import BLANKS, Number, Refused, Repeating, twice, walk, write

# As deep as Spark's reader goes. A JSON column of MySQL has 100 levels at most.
MOST_LEVELS = 1000
# Python looks for a pattern that begins with plain characters four times as fast as for another.
_MINUS_ZERO = re.compile(rb"-0(?<=[\[:,\s]-0)[\]},\s]")


def read_quickly(document: bytes) -> Any:
    """Return what jiter reads, None if it refuses the bytes or would alter a number."""
    if _MINUS_ZERO.search(document):
        return None
    try:
        return jiter.from_json(
            document,
            catch_duplicate_keys=True,
            float_mode="lossless-float",
            cache_mode="keys",
            allow_inf_nan=False,
        )
    except ValueError:
        return None


# Messages of millions of small numbers would take ten times the memory.
_SMALL_NUMBERS = {str(number): Number(number) for number in range(100)}


def _number(text: str) -> Number:
    return _SMALL_NUMBERS.get(text) or Number(text)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeating, first = Repeating(found), {}
    for name, value in pairs:
        if name not in first:
            first[name] = value
        elif not repeating.is_ambiguous:
            repeating.twice = name, first[name], value
            repeating.is_ambiguous = first[name] != value
    return repeating


def read_slowly(value: bytes, shape: Shape, fit: FitDocument) -> tuple[str, dict[str, Any]]:
    """Read what jiter does not: repeated keys of equal value, long integers, deep nesting.
    The rest gets its reason here."""
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        raise Refused("not_utf8", _not_utf8(value, error)) from None
    text = text.removeprefix("\ufeff")
    if text.startswith("\0") and len(text) > 5:
        raise Refused("not_json", f"{_header(value)}, then {text[5:55]!r}")
    _check_depth(text)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 20 * MOST_LEVELS))  # of which a level takes a few
    try:
        found = _decoded(text)
        _check_members(found)
        fitted = fit(found, shape)
        _check_characters(text, found)
        return write({name: fitted[name] for name in shape if name in fitted}), fitted
    finally:
        sys.setrecursionlimit(limit)


def _decoded(text: str) -> Any:
    decoder = json.JSONDecoder(
        object_pairs_hook=_members,
        parse_int=_number,
        parse_float=Number,
        parse_constant=lambda name: _refuse_constant(name, text),
    )
    start = len(text) - len(text.lstrip(BLANKS))
    if start == len(text):
        raise Refused("not_json", "one JSON object expected, found nothing but blanks")
    try:
        found, end = decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise Refused("not_json", _not_json(text, error)) from None
    rest = text[end:].strip(BLANKS)
    if rest:
        raise Refused("not_json", f"more text after character {end}: {rest[:50]!r}")
    return found


def _refuse_constant(name: str, text: str) -> NoReturn:
    found = re.finditer(rf'"(?:[^"\\]++|\\.)*+"|{name}', text)
    start = next(match.start() for match in found if match[0] == name)
    raise Refused("not_json", f"{name} at character {start + 1} is no JSON number")


def _not_utf8(value: bytes, error: UnicodeDecodeError) -> str:
    found = f"byte {value[error.start]:#04x} at offset {error.start} of {len(value)}"
    if value[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return f"a BOM of UTF-16: {value[:2].hex(' ')}; the value has to be UTF-8"
    if value[:1] == b"\0" and len(value) > 5:
        return f"{_header(value)}, then no UTF-8: {found}, {error.reason}"
    return f"no UTF-8: {found}, {error.reason}"


def _header(value: bytes) -> str:
    return f"a registry header: {value[:5].hex(' ')}"


def _not_json(text: str, error: json.JSONDecodeError) -> str:
    """Say what the decoder stumbled over; it counts characters from 0, people from 1."""
    said = error.msg.removesuffix(" at").removesuffix(" starting")
    if error.pos >= len(text.rstrip(BLANKS)) or said == "Unterminated string":
        end = text[-50:]
        return f"the text ends too early, after character {len(text)} {end!r}: {said}"
    near = text[error.pos : error.pos + 50]
    return f"{said} at character {error.pos + 1}: {near!r}"


_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[][{}]', re.DOTALL)


def _check_depth(text: str) -> None:
    depth = 0
    for match in _BRACKETS.finditer(text):
        sign = match[0]
        if sign in "[{":
            depth += 1
            if depth > MOST_LEVELS:
                where = f"from character {match.start() + 1} on"
                raise Refused("not_json", f"nested more than {MOST_LEVELS} levels deep {where}")
        elif sign in "]}":
            depth -= 1


def _check_members(found: Any) -> None:
    """Refuse a document in which an object has a key twice with different values."""
    for value, path in walk(found):
        if type(value) is Repeating and value.is_ambiguous:
            raise twice(value, path)


_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def _check_characters(text: str, found: Any) -> None:
    """Refuse a document with half of a surrogate pair, which is no character."""
    if not _HALF.search(text):
        return
    for value, path in walk(found):
        names = value if isinstance(value, dict) else ()
        for characters in chain(names, (value,) if isinstance(value, str) else ()):
            try:
                characters.encode()
            except UnicodeEncodeError as error:
                half = f"\\u{ord(characters[error.start]):04x}"
                said = f"half of a surrogate pair, which is no character: {half}"
                refused = Refused("not_utf8", said)
                refused.path = list(reversed(path))
                raise refused from None
