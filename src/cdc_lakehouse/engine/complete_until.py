"""The table silver.complete_until: up to where each source is complete, and what gold shows of it.

`engine/progress.py` works out a row from what the partitions of a source have delivered.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple, dataclass, replace
from typing import Any

from cdc_lakehouse.engine.partitions import OffsetRun, Partition
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.sql import quoted

TABLE = "silver.complete_until"
# The file that a run leaves beside the table: a command that waits reads it without Spark.
FILE = "_complete_until.json"

COLUMNS = {
    "source": "string",
    "topics": "array<string>",
    "is_by_time": "boolean",
    "place": "string",
    "complete_until": "timestamp",
    "waits_for": "string",
    "topic": "string",
    "partition": "int",
    "partitions": "int",
    "idle_partitions": "int",
    "newest_committed_at": "timestamp",
    "gold_place": "string",
    "gold_complete_until": "timestamp",
    "gold_bronze_version": "bigint",
    "gold_moved_at": "timestamp",
}
TIMES = [name for name, data_type in COLUMNS.items() if data_type == "timestamp"]


@dataclass(frozen=True)
class Complete:
    """A row of silver.complete_until; times are microseconds since 1970."""

    source: str
    topics: tuple[str, ...]
    is_by_time: bool
    place: str | None = None
    complete_until: int | None = None
    waits_for: str | None = None
    topic: str | None = None
    partition: int | None = None
    partitions: int = 0
    idle_partitions: int = 0
    newest_committed_at: int | None = None
    gold_place: str | None = None
    gold_complete_until: int | None = None
    gold_bronze_version: int | None = None
    gold_moved_at: int | None = None

    @property
    def is_shown(self) -> bool:
        """Whether gold shows all that is complete."""
        return self.place == self.gold_place

    def in_gold(self, now: int, read: int) -> "Complete":
        """Return the same once all gold tables have merged what is complete.

        Args:
            now: the time.
            read: the commit of bronze.messages up to which they have.
        """
        if self.is_shown:
            return replace(self, gold_complete_until=self.complete_until)
        return replace(
            self,
            gold_place=self.place,
            gold_complete_until=self.complete_until,
            gold_bronze_version=read,
            gold_moved_at=now,
        )


@dataclass(frozen=True)
class Moment:
    """The moment that gold shows, as a model that has read it remembers it.

    Attributes:
        moved_at: when gold was moved there; a later moment has a greater one.
        topics: for each topic whether it is placed by time, the place, and up to which commit of
            bronze.messages gold had merged its changes then.
    """

    moved_at: int
    topics: Mapping[str, tuple[bool, str, int]]

    @classmethod
    def of(cls, sources: Iterable[Complete]) -> "Moment":
        """Return the moment that rows of the table tell."""
        moved, topics = 0, dict[str, tuple[bool, str, int]]()
        for row in sources:
            if row.gold_place is None or row.gold_bronze_version is None:
                continue
            moved = max(moved, row.gold_moved_at or 0)
            place = row.is_by_time, row.gold_place, row.gold_bronze_version
            topics |= dict.fromkeys(row.topics, place)
        return cls(moved, topics)

    @property
    def text(self) -> str:
        """The moment as a text; the text of a later one is greater."""
        return f"{self.moved_at:020} {json.dumps(self.topics, sort_keys=True)}"

    @classmethod
    def read(cls, text: str) -> "Moment":
        """Return the moment of a text.

        Raises:
            LakehouseError: it is the text of no moment.
        """
        try:
            moved, _, said = text.partition(" ")
            topics = {topic: tuple(place) for topic, place in json.loads(said).items()}
            return cls(int(moved), topics)
        except (ValueError, AttributeError, TypeError):
            raise LakehouseError(
                f"{text!r} is no moment: give `until` what moment() returns."
            ) from None

    @property
    def rows(self) -> str:
        """The moment as the query of a row for each topic, with the names that views have."""
        listed = [
            f"({quoted(topic)}, {_literal(by_time)}, {quoted(place)}, {read}L)"
            for topic, (by_time, place, read) in sorted(self.topics.items())
        ]
        names = "_topic_of_source, _is_by_time, _gold_place, _gold_read"
        nothing = "" if listed else " where false"
        rows = ", ".join(listed or ["('', false, '', 0L)"])
        return f"select * from values {rows} as topics ({names}){nothing}"


@dataclass(frozen=True)
class OpenGroup:
    """Changes of one commit time and transaction that are not complete; `version` is of bronze."""

    first_place: str
    last_place: str
    committed_at: int | None
    transaction_id: str | None
    version: int


@dataclass(frozen=True)
class Asked:
    """The result of the last query of a source's changes: which of them are not complete.

    Attributes:
        bound, heard: as of a source.
        open_version: the first commit of bronze.messages with a change that is not complete.
        open_groups: all such changes; None if they are too many to be kept.
    """

    source: str
    bound: str | None
    heard: int | None
    open_version: int | None
    open_groups: tuple[OpenGroup, ...] | None


@dataclass(frozen=True)
class State:
    """The state that a run has left: the rows of a version of the table, and what they come from.

    Attributes:
        events: the version of the change log.
        read: up to which commit of bronze.messages it had read then.
        routes: a name for the lines of seeds/topics.csv.
        partitions: how far they have come, whatever is missing of them.
        asked: what each source was asked.
    """

    version: int
    events: int
    read: int | None
    routes: str
    sources: tuple[Complete, ...]
    partitions: tuple[Partition, ...] = ()
    asked: tuple[Asked, ...] = ()

    def text(self) -> str:
        """Return it as a text for `read_state`."""
        rows = {name: [asdict(each) for each in vars(self)[name]] for name in ROWS}
        return json.dumps(vars(self) | rows)


# The attributes of a state that are rows.
ROWS = ("sources", "partitions", "asked")


def read_state(text: str | None) -> State | None:
    """Return what a run has left as a text; None if there is none that can be read."""
    try:
        said = json.loads(text or "")
        sources = [Complete(**row | {"topics": tuple(row["topics"])}) for row in said["sources"]]
        partitions = [
            Partition(**row | {"runs": tuple(OffsetRun(**run) for run in row["runs"])})
            for row in said["partitions"]
        ]
        asked = [
            Asked(
                **row
                | {
                    "open_groups": None
                    if row["open_groups"] is None
                    else tuple(OpenGroup(**group) for group in row["open_groups"])
                }
            )
            for row in said["asked"]
        ]
        return State(
            said["version"],
            said["events"],
            said["read"],
            said["routes"],
            tuple(sources),
            tuple(partitions),
            tuple(asked),
        )
    except (ValueError, TypeError, KeyError):
        return None


def rows_in_sql(sources: Iterable[Complete]) -> str:
    """Return the query of rows of the table."""
    rows = ",\n    ".join(f"({', '.join(map(_literal, astuple(each)))})" for each in sources)
    columns = [
        f"{f'timestamp_micros({name})' if name in TIMES else f'cast({name} as {kind})'} as {name}"
        for name, kind in COLUMNS.items()
    ]
    listed = ", ".join(columns)
    names = ", ".join(COLUMNS)
    return f"select /*+ coalesce(1) */ {listed}\nfrom values\n    {rows}\nas rows ({names})"


def _literal(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int():
            return f"{value}L"
        case tuple():
            return f"array({', '.join(map(quoted, value))})"
        case _:
            return quoted(value)
