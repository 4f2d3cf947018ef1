"""How far each partition of the topics has delivered."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

# So many runs of offsets are kept of a partition in which some are missing.
RUNS_KEPT = 100


@dataclass(frozen=True)
class OffsetRun:
    """Offsets of a partition of which none is missing.

    Attributes:
        place, committed_at: of the latest of its changes, as of a partition.
        ingested_at: when the earliest of its messages came.
    """

    first: int
    last: int
    place: str | None = None
    committed_at: int | None = None
    ingested_at: int | None = None


@dataclass(frozen=True)
class Partition:
    """What a partition has delivered; times are microseconds since 1970.

    Attributes:
        format: of its messages, several with commas; empty of those that nobody has routed.
        number: None of the line files of a topic: each of them has come whole.
        place, committed_at: of its latest change, in the order of the log and by the time.
        heard_at: of its latest heartbeat or mark of a transaction.
        ingested_at: when something came last.
        has_changes: whether it brings changes at all; rejected messages may be some.
        missing: the first offset that has not come, while later ones have.
        runs: the first runs of its offsets, in their order; none if they are not looked at.
        has_more_runs: whether there are later ones.
    """

    topic: str
    number: int | None
    format: str = ""
    place: str | None = None
    committed_at: int | None = None
    heard_at: int | None = None
    ingested_at: int | None = None
    has_changes: bool = False
    missing: int | None = None
    runs: tuple[OffsetRun, ...] = ()
    has_more_runs: bool = False

    @property
    def name(self) -> str:
        """How a person names it."""
        return self.topic if self.number is None else f"{self.topic}/{self.number}"

    def place_in(self, is_by_time: bool) -> str:
        """Up to where it has come; an empty text if that is before every change."""
        if is_by_time:
            return "" if self.committed_at is None else place_of_time(self.committed_at)
        return self.place or ""

    @property
    def is_heard_later(self) -> bool:
        """Whether a heartbeat or a mark came after its latest change."""
        return self.heard_at is not None and self.heard_at > (self.committed_at or 0)

    @property
    def has_lost_runs(self) -> bool:
        """Whether the gap before runs that were not kept has been filled."""
        return self.has_more_runs and len(self.runs) == 1

    def and_later(self, new: "Partition") -> "Partition":
        """Return how far it has come with what came after."""
        formats = {*self.format.split(", "), *new.format.split(", ")} - {""}
        runs = joined([*self.runs, *new.runs])
        return Partition(
            self.topic,
            self.number,
            ", ".join(sorted(formats)),
            _later(self.place, new.place),
            _later(self.committed_at, new.committed_at),
            _later(self.heard_at, new.heard_at),
            _later(self.ingested_at, new.ingested_at),
            self.has_changes or new.has_changes,
            None,
            tuple(runs[:RUNS_KEPT]),
            self.has_more_runs or new.has_more_runs or len(runs) > RUNS_KEPT,
        )

    def up_to_gap(self, let_go_before: int | None) -> "Partition":
        """Return how far it has come before the first offset that is missing, if one is.

        Args:
            let_go_before: a gap is let go if something behind it came before that moment.
        """
        begun = 1 if self.runs and self.runs[0].first == 0 else 0
        for count, run in enumerate(self.runs, 1):
            if let_go_before is not None and (run.ingested_at or 0) <= let_go_before:
                begun = count
        if begun == len(self.runs) and not self.has_more_runs:
            return self
        place = committed_at = None
        for run in self.runs[:begun]:
            place = _later(place, run.place)
            committed_at = _later(committed_at, run.committed_at)
        missing = self.runs[begun - 1].last + 1 if begun else 0
        return replace(self, place=place, committed_at=committed_at, missing=missing)


def joined(runs: Iterable[OffsetRun]) -> list[OffsetRun]:
    """Return runs of offsets in their order, those as one between which no offset is missing."""
    found: list[OffsetRun] = []
    for run in sorted(runs, key=lambda each: each.first):
        if found and run.first <= found[-1].last + 1:
            one = found.pop()
            ingested = [t for t in (one.ingested_at, run.ingested_at) if t is not None]
            run = OffsetRun(
                one.first,
                max(one.last, run.last),
                _later(one.place, run.place),
                _later(one.committed_at, run.committed_at),
                min(ingested, default=None),
            )
        found.append(run)
    return found


def with_later(known: Iterable[Partition], new: Iterable[Partition]) -> tuple[Partition, ...]:
    """Return how far partitions have come with what came after."""
    found = {(p.topic, p.number): p for p in known}
    for each in new:
        place = each.topic, each.number
        found[place] = found.get(place, Partition(*place)).and_later(each)
    return tuple(found.values())


def _later(one: Any, other: Any) -> Any:
    return max((each for each in (one, other) if each is not None), default=None)


def place_of_time(microseconds: int) -> str:
    """Return a commit time as a text that sorts; SQL makes the same of a column."""
    return f"{max(microseconds, 0):020}"
