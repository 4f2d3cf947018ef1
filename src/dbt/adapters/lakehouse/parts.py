"""The parts of the adapter, which macros call by their names: `adapter.gold.plan(...)`."""

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

Kind = TypeVar("Kind")


class _WhileParsing:
    """A part while dbt parses a project: every method returns an empty text."""

    def __getattr__(self, name: str) -> Callable[..., str]:
        return lambda *arguments, **named: ""


class Part(cached_property[Kind]):
    """A part of the adapter; dbt lets macros ask what says that it is available."""

    _is_available_ = True
    _parse_replacement_ = _WhileParsing()
