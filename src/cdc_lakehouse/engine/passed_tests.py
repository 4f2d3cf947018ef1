"""How far data tests have passed: rows that came before need not be looked at again."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

FILE = "_passed_tests.json"  # in the folder of the change log


@dataclass(frozen=True)
class Passed:
    """What a data test had looked at when it passed.

    Attributes:
        definition: tells whether the test is still the same.
        events: the version of the change log.
        messages: up to which version of bronze.messages the change log had read.
    """

    definition: str
    events: int
    messages: int


def read_passed(text: str | None) -> dict[str, Passed]:
    """Return what FILE says of each test, by its dbt name; nothing if that cannot be read."""
    try:
        return {name: Passed(**kept) for name, kept in json.loads(text or "{}").items()}
    except (AttributeError, TypeError, ValueError):
        return {}


def text_of(passed: Mapping[str, Passed]) -> str:
    """Return what FILE is to say."""
    return json.dumps({name: asdict(kept) for name, kept in passed.items()}, sort_keys=True)
