"""The first line of the report: whether gold can be used."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from cdc_lakehouse.report.facts import Facts
from cdc_lakehouse.report.gold import BehindTable, Gold

NAMED = 3  # tables in the line


def first_line(facts: Facts) -> str:
    """Return in one line whether gold can be used; it has only what is known."""
    gold = facts.gold
    if gold is None:
        return "gold could not be read: it is not known how far it is"
    if not gold.models:
        said = ["gold has no table yet: no model reads a source table"]
    elif len(gold.missing) == gold.models:
        said = [f"gold is not built yet: 0 of {_counted(gold.models, 'table')} built"]
    else:
        said = list(_tables(facts, gold))
    if facts.partitions:
        rejected = sum(partition.rejected for partition in facts.partitions)
        waiting = sum(partition.unprocessed for partition in facts.partitions)
        said.append(f"{_counted(rejected, 'message')} rejected")
        said += [f"{_counted(waiting, 'message')} not processed yet"] * (waiting > 0)
    return ", ".join(said)


def _tables(facts: Facts, gold: Gold) -> Iterable[str]:
    day = _at(facts.made_at)[:10]
    if gold.as_of is not None:
        yield f"gold is as of {_moment(gold.as_of, day)} UTC"
    else:
        yield "gold has merged no message yet"
    until = [source.gold_complete_until for source in facts.sources]
    moments = [moment for moment in until if moment is not None]
    if until and len(moments) == len(until):
        yield f"complete until {_moment(min(moments), day)} UTC"
    built = gold.models - len(gold.missing)
    without = f" (without {_listed(gold.missing)})" if gold.missing else ""
    yield f"{built:,} of {_counted(gold.models, 'table')} built{without}"
    if gold.behind:
        named = _listed([_behind(table, day) for table in gold.behind])
        yield f"{_counted(len(gold.behind), 'table')} behind silver ({named})"
    yield f"{_counted(gold.held, 'row')} held"


def _behind(table: BehindTable, day: str) -> str:
    as_of = "with no message" if table.as_of is None else f"as of {_moment(table.as_of, day)} UTC"
    return f"{table.table} {as_of}"


def _listed(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - NAMED:,} more" if len(texts) > NAMED else ""
    return ", ".join(texts[:NAMED]) + more


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _at(seconds: float) -> str:
    """Return a moment to the minute that has begun: nothing is said to be newer than it is."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def _moment(seconds: float, day: str) -> str:
    """Return a moment, without its day if that is the day of the report."""
    return _at(seconds).removeprefix(f"{day} ")
