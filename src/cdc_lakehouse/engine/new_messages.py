"""The messages that are new to the change log: where their identities lie, whether any repeat."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

from cdc_lakehouse.bronze.tables import IDENTITY
from cdc_lakehouse.delta.statistics import Extent
from cdc_lakehouse.sql import quoted

# Above so many files, a query is asked: each file is a condition in every read of a table.
MANY_FILES = 256

# The new messages by topic, partition and format, if the log of bronze does not tell.
QUERY = """
    select
        topic,
        partition,
        min(offset) as first_offset,
        max(offset) as last_offset,
        count(*) > count(distinct offset) as has_copies,
        bool_or(is_update) as has_updates
    from new_deliveries
    group by topic, partition, format"""


@dataclass(frozen=True)
class NewMessages:
    """The new messages of a window.

    Attributes:
        extents: where the identities of the messages lie.
        has_copies: whether a message may come twice.
        has_updates: whether some come a second time on purpose.
        are_known: whether the change log has rows in the same extents.
    """

    extents: tuple[Extent, ...]
    has_copies: bool = False
    has_updates: bool = False
    are_known: bool = False

    @property
    def ranges(self) -> str:
        """The condition on a row that its message may be one of these."""
        return " or ".join(map(_condition, self.extents))

    @property
    def reprocesses(self) -> bool:
        """Whether messages that have been processed are to be processed again."""
        return self.are_known and self.has_updates


def _condition(extent: Extent) -> str:
    ends = zip(IDENTITY, map(_literal, extent.least), map(_literal, extent.greatest), strict=True)
    columns = [
        f"{name} = {first}" if first == last else f"{name} between {first} and {last}"
        for name, first, last in ends
    ]
    return f"({' and '.join(columns)})"


def _literal(value: str | int) -> str:
    return quoted(value) if isinstance(value, str) else str(value)


def from_rows(rows: Iterable[Sequence[Any]]) -> NewMessages:
    """Return what the rows of QUERY tell; deliveries in two formats may be of one message."""
    rows = list(rows)
    extents = [Extent((t, n, first), (t, n, last)) for t, n, first, last, *_ in rows]
    formats = Counter((topic, partition) for topic, partition, *_ in rows)
    return NewMessages(
        tuple(extents),
        has_copies=any(row[4] for row in rows) or any(count > 1 for count in formats.values()),
        has_updates=any(row[5] for row in rows),
    )


def from_commits(commits: Sequence[Sequence[Extent]]) -> NewMessages | None:
    """Return what the files of commits tell that have each message once.

    Returns:
        None if they are too many to be looked at one by one.
    """
    if sum(map(len, commits)) > MANY_FILES:
        return None
    pairs = (pair for two in combinations(commits, 2) for pair in product(*two))
    return NewMessages(
        tuple(extent for commit in commits for extent in commit),
        has_copies=any(one.overlaps(other) for one, other in pairs),
    )
