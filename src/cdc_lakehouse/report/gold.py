"""How far gold has merged silver, in plain values."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class BehindTable:
    """A gold table that has not merged all that is in silver.

    `as_of`: when the ingest began that landed the latest message that it has merged, if any.
    """

    table: str
    as_of: float | None


@dataclass(frozen=True)
class Gold:
    """How far gold is.

    Attributes:
        models: how many models of the project read changes of source tables.
        missing: those of them that have no table.
        as_of: when the ingest began that landed the latest message that the tables have merged,
            except those that are behind.
        held: the rows that rules hold back.
    """

    models: int
    missing: tuple[str, ...] = ()
    as_of: float | None = None
    behind: tuple[BehindTable, ...] = ()
    held: int = 0


def gold_of(
    models: Iterable[str],
    there: Iterable[str],
    read: dict[str, int | None],
    processed: int,
    held: int,
    came_by: Callable[[int], float | None],
) -> Gold:
    """Return how far gold is.

    Args:
        models, there: the names of the models, and of the tables and views of gold.
        read: up to which commit of bronze.messages each table has merged; None if it has nothing.
        processed: up to which commit silver has processed.
        came_by: tells when the latest message that is in the commits up to one was landed.
    """
    names = sorted(set(models))
    commits = {name: -1 if commit is None else commit for name, commit in read.items()}
    late = [name for name in sorted(commits) if commits[name] < processed]
    newest = max(commits.values(), default=-1)
    times = {commit: came_by(commit) for commit in {newest, *(commits[name] for name in late)}}
    return Gold(
        models=len(names),
        missing=tuple(name for name in names if name not in set(there)),
        as_of=times[newest],
        behind=tuple(BehindTable(name, times[commits[name]]) for name in late),
        held=held,
    )
