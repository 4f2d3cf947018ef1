"""Up to where the topics of a source have delivered everything.

A source is the log of one server. Each partition delivers changes in the order of that log, so all
changes before the earliest of its partitions' last places are there. The moment is then the last
place before that at which no transaction is open. `engine/sql/complete_until.sql` has the queries.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import astuple, dataclass

from cdc_lakehouse.engine.complete_until import Complete
from cdc_lakehouse.engine.partitions import Partition
from cdc_lakehouse.routes import EXTRACT_TOPIC, Routes

# The formats whose `sequence` is a place in the log of the whole source. All others are placed by
# their commit times, as is a source whose topics have several formats.
LOGGED = frozenset(
    {
        *("dataworks_kafka", "datastream_json", "debezium_avro", "debezium_json"),
        *("debezium_protobuf", "drs_avro"),
        *("drs_json", "drs_json_c", "dts_avro", "dts_canal", "dts_shareplex", "goldengate_json"),
        *("maxwell", "mongodb_change_stream", "oceanbase_avro", "oms_dataworks", "oms_debezium"),
        *("oms_debezium_flatten", "oms_default", "oms_default_extend", "oms_shareplex"),
        *("tencent_canal", "ticdc_simple", "tidb_canal"),
    }
)
# It sorts behind every place.
AFTER = "~"
SECOND = 1_000_000


@dataclass(frozen=True)
class Found:
    """The changes of a source from its floor on, as one query sums them up.

    Attributes:
        heard_place: the first place of a change that was committed at the time of the heartbeat or
            marker that is waited for, or later.
        cut: the place before which every transaction is complete; None if all are.
        open_since: when the first change from there on was committed.
        last_commit: the time of the latest change before it.
        last_place: the latest place of all.
        open_version: the first commit of bronze.messages with a change that is not complete.
        open_groups: how many transactions, or parts of them, are not.
    """

    heard_place: str | None = None
    cut: str | None = None
    open_since: int | None = None
    last_commit: int | None = None
    last_place: str | None = None
    open_version: int | None = None
    open_groups: int = 0


@dataclass(frozen=True)
class Source:
    """The partitions of a source, and what bounds the place up to which it is complete.

    Attributes:
        bound: the earliest of the last places of its partitions, None if none is waited for; and
        bounded_by: the partition whose it is.
        heard, heard_by: the same of the partitions that said by a mark that they have come further.
    """

    name: str
    topics: tuple[str, ...]
    is_by_time: bool
    partitions: tuple[Partition, ...]
    idle: int
    bound: str | None
    bounded_by: Partition | None
    heard: int | None
    heard_by: Partition | None
    known: Complete | None

    @property
    def floor(self) -> str:
        """The place before which nothing is looked at again."""
        return self.known.place or "" if self.known else ""

    @property
    def newest(self) -> int | None:
        """When its newest change was committed."""
        times = [p.committed_at for p in self.partitions if p.committed_at is not None]
        return max(times, default=None)

    def complete(self, found: Found | None) -> Complete:
        """Return the source's row.

        Args:
            found: what its changes from `floor` on tell; None if there are none.
        """
        place, until = self._reached(found or Found())
        if self.known and self.known.place and (place or "") < self.known.place:
            place = self.known.place
        if self.known and self.known.complete_until is not None:
            until = max(until or 0, self.known.complete_until)
        holder, why = self._held_by(found or Found())
        return Complete(
            self.name,
            self.topics,
            self.is_by_time,
            place,
            until,
            why,
            holder.topic if holder else None,
            holder.number if holder else None,
            len(self.partitions),
            self.idle,
            self.newest,
            *((astuple(self.known)[-4:]) if self.known else ()),
        )

    def _reached(self, found: Found) -> tuple[str | None, int | None]:
        if self.bound == "":
            return None, None
        open_since = [t for t in (found.open_since, self.heard) if t is not None]
        until = min(open_since) - 1 if open_since else found.last_commit
        if found.cut is not None:
            return found.cut, until
        if found.last_place is None:
            return (self.known.place if self.known else None), until
        return found.last_place + AFTER, until

    def _held_by(self, found: Found) -> tuple[Partition | None, str | None]:
        """The partition that holds the source back, and why."""
        by_mark = self.heard_by and (
            self.bound is None or (found.heard_place or AFTER) < self.bound
        )
        holder = self.heard_by if by_mark else self.bounded_by
        if holder is None:
            return None, None
        if holder.missing is not None:
            return holder, f"offset {holder.missing:,} of {holder.name}"
        if holder.ingested_at is None:
            return holder, f"a first message of {holder.name}"
        if not by_mark and not holder.place_in(self.is_by_time):
            lacks = "with a commit time" if self.is_by_time else "with a place in the log"
            return holder, f"a change {lacks} from {holder.name}"
        return holder, f"the next message of {holder.name}"


def with_expected(
    partitions: Iterable[Partition], routes: Routes, read: Collection[tuple[str, int]]
) -> list[Partition]:
    """Return the partitions of all sources, those too of which nothing has come.

    Kafka numbers the partitions of a topic from 0 on. A route may say how many there are, and of a
    source that has a name it tells that there is a topic.

    Args:
        read: the partitions of which Kafka has been read, with or without a message.
    """
    found = [p for p in partitions if p.format and routes.route_of(p.topic)]
    numbers: dict[str, set[int | None]] = defaultdict(set)
    for partition in found:
        numbers[partition.topic].add(partition.number)
    for topic, number in read:
        if routes.route_of(topic):
            numbers[topic].add(number)
    for route in routes.in_precedence():
        if route.source and "*" not in route.topic:
            numbers[route.topic] |= set() if numbers[route.topic] else {0}
    known = {(p.topic, p.number) for p in found}
    for topic, seen in numbers.items():
        covering = routes.route_of(topic)
        stated = int(covering.partitions or 0) if covering else 0
        last = max((n for n in seen if n is not None), default=-1)
        for number in range(max(stated, last + 1)):
            if (topic, number) not in known and seen != {None}:
                found.append(Partition(topic, number, has_changes=True))
    return found


def sources_of(
    partitions: Iterable[Partition],
    routes: Routes,
    now: int,
    known: Iterable[Complete],
    extracts: Mapping[str, str],
) -> list[Source]:
    """Return the sources that topics come from, by their names.

    Args:
        partitions: as `with_expected` returns them.
        known: the rows that an earlier run has left.
        extracts: by the topic of a full extract a topic that carries changes of its table.
    """
    of_source: dict[str, list[Partition]] = defaultdict(list)
    for partition in partitions:
        route = routes.route_of(partition.topic)
        if route and not partition.topic.startswith(EXTRACT_TOPIC):
            of_source[route.source or partition.topic].append(partition)
    before = {each.source: each for each in known}
    return [
        _source(name, of_source[name], routes, now, before.get(name), extracts)
        for name in sorted(of_source)
    ]


def _source(
    name: str,
    partitions: list[Partition],
    routes: Routes,
    now: int,
    known: Complete | None,
    extracts: Mapping[str, str],
) -> Source:
    formats = {p.format for p in partitions if p.format}
    is_by_time = len(formats) != 1 or not formats <= LOGGED
    topics = {p.topic for p in partitions}
    topics |= {extract for extract, topic in extracts.items() if topic in topics}
    # What tells neither changes nor times, such as a topic of heartbeats, cannot be waited for.
    asked = [p for p in partitions if p.has_changes or p.heard_at is not None]
    waited = [p for p in asked if not _is_idle(p, routes, now)]
    marks = [p for p in waited if p.is_heard_later and p.missing is None]
    heard_by = min(marks, key=lambda p: p.heard_at or 0, default=None)
    others = [p for p in waited if p not in marks]
    bounded_by = min(others, key=lambda p: p.place_in(is_by_time), default=None)
    return Source(
        name,
        tuple(sorted(topics)),
        is_by_time,
        tuple(asked),
        len(asked) - len(waited),
        bounded_by.place_in(is_by_time) if bounded_by else None,
        bounded_by,
        heard_by.heard_at if heard_by else None,
        heard_by,
        known if known and known.is_by_time == is_by_time else None,
    )


def _is_idle(partition: Partition, routes: Routes, now: int) -> bool:
    """Tell whether a partition is not waited for: nothing has come for as long as its route says.

    Of what never came it is not known since when; the route alone says that it may.
    """
    horizon = let_go_before(partition.topic, routes, now)
    return horizon is not None and (partition.ingested_at or 0) <= horizon


def let_go_before(topic: str, routes: Routes, now: int) -> int | None:
    """Return before which moment the last message of a partition that is idle has come."""
    route = routes.route_of(topic)
    seconds = route.idle_seconds if route else None
    return None if seconds is None else now - seconds * SECOND
