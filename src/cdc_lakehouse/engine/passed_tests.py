"""Note how far data tests have passed, so that they need not read earlier rows again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

FILE = "_passed_tests.json"  # in the folder of the change log


@dataclass(frozen=True)
class Passed:
    """What a data test had looked at when it passed.

    Attributes:
        definition: tells whether the test is still the same.
        events: the version of the change log.
        messages: up to which version of bronze.messages the change log had read.
        commits: the identifiers of these two commits, those that were known.
    """

    definition: str
    events: int
    messages: int
    commits: tuple[str | None, str | None] = (None, None)


def read_passed(text: str | None) -> dict[str, Passed]:
    """Return what FILE says of each test, by its dbt name; nothing if that cannot be read."""
    try:
        return {name: _passed(**kept) for name, kept in json.loads(text or "{}").items()}
    except (AttributeError, TypeError, ValueError):
        return {}


def _passed(commits: Sequence[str | None] = (None, None), **kept: Any) -> Passed:
    events, messages = commits
    return Passed(**kept, commits=(events, messages))


def text_of(passed: Mapping[str, Passed]) -> str:
    """Return what FILE is to say."""
    return json.dumps({name: asdict(kept) for name, kept in passed.items()}, sort_keys=True)
