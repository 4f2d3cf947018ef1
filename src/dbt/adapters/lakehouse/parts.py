"""The parts that the adapter is made of, as macros ask them: `adapter.gold.plan(...)`."""

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

Kind = TypeVar("Kind")


class _WhileParsing:
    """What a part is while dbt parses a project: whatever is asked of it is an empty text."""

    def __getattr__(self, name: str) -> Callable[..., str]:
        return lambda *arguments, **named: ""


class Part(cached_property[Kind]):
    """A part of the adapter; dbt lets macros ask what says that it is available."""

    _is_available_ = True
    _parse_replacement_ = _WhileParsing()
