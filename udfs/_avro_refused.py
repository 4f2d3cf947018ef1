"""Refusals of values that cannot be decoded, and what decoders remember between messages."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Found = TypeVar("_Found")


class Refused(Exception):
    """A message that cannot be decoded: error code, detail for a person."""


def reason(error: Exception) -> str:
    """Say what an unforeseen error is, in one line."""
    return f"{type(error).__name__}: {str(error)[:200]}"


def checked_value(value: _Found | None) -> _Found:
    """Return `value` if it holds any bytes, refuse it otherwise."""
    if not value:
        raise Refused("empty_value", "the value is null" if value is None else "zero bytes")
    return value


def keep(known: dict[_Key, _Found], key: _Key, found: _Found) -> _Found:
    """Put `found` into a memory that never holds more than a thousand, and return it."""
    if len(known) >= 1000:
        known.clear()
    known[key] = found
    return found


def remembered(function: Callable[[_Key], _Found]) -> Callable[[_Key], _Found]:
    """Keep answers for arguments that come with every message. Plain closures, because
    functools.lru_cache objects cannot be pickled by value."""
    answers: dict[_Key, _Found] = {}

    def answer(argument: _Key) -> _Found:
        try:
            return answers[argument]
        except KeyError:
            return keep(answers, argument, function(argument))

    return answer
