"""Ask Spark how far the partitions of topics, and with them their sources, have delivered."""

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import groupby

from cdc_lakehouse.delta.log import appended_since
from cdc_lakehouse.engine.complete_until import Asked, OpenGroup, State
from cdc_lakehouse.engine.partitions import RUNS_KEPT, OffsetRun, Partition, with_later
from cdc_lakehouse.engine.progress import (
    SECOND,
    Found,
    Source,
    let_go_before,
    sources_of,
    with_expected,
)
from cdc_lakehouse.engine.rendering import sql
from cdc_lakehouse.ingest.kafka.checkpoint import partitions_read
from cdc_lakehouse.routes import EXTRACT_TOPIC, Routes
from cdc_lakehouse.sql import quoted
from dbt.adapters.lakehouse.tables import Tables, folder_of

# The queries that are given a name.
NEW_RESULTS, OF_GAPS, GROUPS = "new_results", "results_of_gaps", "groups_of_changes"
# So many transactions that are not complete are kept for the next run, which else looks for them.
GROUPS_KEPT = 1000


@dataclass(frozen=True)
class Question:
    """The question about the changes of a source, if it is due.

    Attributes:
        begin: the version of bronze from which on there is something that is not complete.
        kept: what is not complete of what came before; None if it was too much to be kept.
        kept_version: `begin` for the next run, if it is not asked now.
    """

    source: Source
    is_due: bool
    begin: int
    kept: tuple[OpenGroup, ...] | None
    kept_version: int | None


class Progress:
    """What has arrived since an earlier run, and up to where sources are complete now.

    Args:
        known: what that run has left.
        routes: those of the project.
    """

    def __init__(self, tables: Tables, known: State, routes: Routes) -> None:
        self.tables, self.known, self.routes = tables, known, routes
        # Kafka gives the offsets of a partition in their order; those that it has not are gone.
        self.read = partitions_read()
        self.has_new_results = False

    def after(self, events: int, read: int | None) -> State:
        """Return what there is at a version of silver, of which nothing is written yet.

        Args:
            events: the version of silver.events.
            read: up to which commit of bronze.messages it has read.
        """
        only_grew = self._only_grew(events)
        new = self._new_partitions(events) if only_grew else self._all_partitions()
        partitions = with_later(self.known.partitions if only_grew else (), new)
        if any(p.has_lost_runs for p in partitions):
            partitions = tuple(self._all_partitions())
        asked = {each.source: each for each in self.known.asked if only_grew}
        questions = [
            self._question(source, {p.topic for p in new}, asked.get(source.name))
            for source in self._sources(partitions)
        ]
        due = [each for each in questions if each.is_due]
        places = self._places(due)
        open_groups = self._open_groups(places)
        rows = tuple(each.source.complete(places.get(each.source.name)) for each in questions)
        left = tuple(_left(each, places, open_groups) for each in questions)
        return State(self.known.version, events, read, self.routes.digest, rows, partitions, left)

    def _only_grew(self, events: int) -> bool:
        """Whether silver has kept the rows that it had when the earlier run asked."""
        path, since = folder_of(self.tables.events), self.known.events
        return self.known.read is not None and (
            since == events or appended_since(path, since, events, saying="") is not None
        )

    def _new_partitions(self, events: int) -> list[Partition]:
        """How far partitions have delivered since the earlier run."""
        if events == self.known.events:
            return []
        new = sql.results_where(f"bronze_version > {self.known.read}")
        self.tables.stage(NEW_RESULTS, new)
        self.has_new_results = True
        return self._with_runs(self._partitions_of(NEW_RESULTS), NEW_RESULTS)

    def _all_partitions(self) -> list[Partition]:
        """All that has come of partitions, as silver has summed it up; of gaps silver tells."""
        partitions = self._partitions_of(sql.all_results())
        rows = self.tables.rows(sql.partitions_without_gaps())
        whole = {(row.topic, row.partition): row.last_offset for row in rows}
        found, gaps = [], []
        for each in partitions:
            place = each.topic, each.number
            if each.number is None or place in self.read:
                found.append(each)
            elif place in whole:
                runs = (OffsetRun(0, whole[place], each.place, each.committed_at),)
                found.append(replace(each, runs=runs))
            else:
                gaps.append(each)
        if gaps:
            listed = ", ".join(f"({quoted(p.topic)}, {p.number})" for p in gaps)
            self.tables.name_query(OF_GAPS, sql.results_and_removed_messages(listed))
            gaps = self._with_runs(gaps, OF_GAPS)
        return [*found, *gaps]

    def _partitions_of(self, results: str) -> list[Partition]:
        rows = self.tables.rows(sql.progress_of_partitions(results))
        return [Partition(row.topic, row.partition, *row[2:]) for row in rows]

    def _with_runs(self, partitions: Iterable[Partition], results: str) -> list[Partition]:
        """Return partitions with the runs of their offsets, where Kafka does not tell them."""
        rows = self.tables.rows(sql.runs_of_offsets(results, RUNS_KEPT + 1))
        runs = {
            place: tuple(OffsetRun(*row[2:]) for row in of_place)
            for place, of_place in groupby(rows, key=lambda row: (row.topic, row.partition))
        }
        found = []
        for each in partitions:
            place = each.topic, each.number
            of_each = runs.get(place, ()) if place not in self.read else ()
            has_more = len(of_each) > RUNS_KEPT
            found.append(replace(each, runs=of_each[:RUNS_KEPT], has_more_runs=has_more))
        return found

    def _sources(self, partitions: Iterable[Partition]) -> list[Source]:
        now = int(time.time() * SECOND)
        extracts = {}
        if any(p.topic.startswith(EXTRACT_TOPIC) for p in partitions):
            extracts = {
                row.extract: row.topic for row in self.tables.rows(sql.topics_of_extracts())
            }
        found = [
            p.up_to_gap(let_go_before(p.topic, self.routes, now))
            if p.runs and (p.topic, p.number) not in self.read
            else p
            for p in partitions
            if not p.topic.startswith(EXTRACT_TOPIC)
        ]
        found = with_expected(found, self.routes, self.read)
        return sources_of(found, self.routes, now, self.known.sources, extracts)

    def _question(self, source: Source, news: Collection[str], asked: Asked | None) -> Question:
        if source.known is None or source.known.topics != source.topics:
            asked = None
        has_news = any(topic in news for topic in source.topics)
        is_same = asked and (asked.bound, asked.heard) == (source.bound, source.heard)
        begin, kept, version = -1, asked.open_groups if asked else None, None
        if asked and source.floor and self.known.read is not None:
            is_kept = asked.open_version is None or kept is not None
            begin = self.known.read + 1 if is_kept else asked.open_version or 0
            version = asked.open_version
        is_due = source.bound != "" and (has_news or not is_same)
        if not is_due and (has_news or asked is None):
            kept, version = None, begin if version is None else version
        return Question(source, is_due, begin, kept, version)

    def _places(self, due: Collection[Question]) -> dict[str, Found]:
        """Read the changes of sources that are not complete."""
        if not due:
            return {}
        limits = ", ".join(
            f"({quoted(topic)}, {quoted(s.name)}, {str(s.is_by_time).lower()}, {quoted(s.floor)}, "
            f"{_text(s.bound)}, {_number(s.heard)})"
            for s in (each.source for each in due)
            for topic in s.topics
        )
        kept = ", ".join(
            f"({quoted(s.name)}, {_text(s.bound)}, {_number(s.heard)}, "
            f"{quoted(group.first_place)}, {quoted(group.last_place)}, "
            f"{_number(group.committed_at)}, {_text(group.transaction_id)}, {group.version}L)"
            for s, groups in ((each.source, each.kept or ()) for each in due)
            for group in groups
        )
        begin, read = min(each.begin for each in due), self.known.read
        results = NEW_RESULTS
        if not self.has_new_results or read is None or begin <= read:
            # Files of earlier runs are left out by their statistics.
            results = f"({sql.results_where(f'bronze_version >= {begin}')})"
        groups = sql.groups_of_changes(limits, results, kept)
        if begin < 0 and not self.tables.has_little_since(self.tables.events, None):
            self.tables.name_query(GROUPS, groups)  # those of all of silver are too many to keep
        else:
            self.tables.stage(GROUPS, groups)
        rows = self.tables.rows(sql.complete_places())
        return {row.source: Found(*row[1:]) for row in rows}

    def _open_groups(self, places: dict[str, Found]) -> dict[str, list[OpenGroup]]:
        """The changes of sources that are not complete, where they are few."""
        cuts = ", ".join(
            f"({quoted(name)}, {quoted(found.cut)})"
            for name, found in places.items()
            if found.cut is not None and 0 < found.open_groups <= GROUPS_KEPT
        )
        groups: dict[str, list[OpenGroup]] = {
            name: [] for name, found in places.items() if not found.open_groups
        }
        for row in self.tables.rows(sql.groups_from_cuts(cuts)) if cuts else ():
            groups.setdefault(row.source, []).append(OpenGroup(*row[1:]))
        return groups


def _left(
    question: Question, places: dict[str, Found], open_groups: dict[str, list[OpenGroup]]
) -> Asked:
    """Return what the next run has to know of a question."""
    source, version, kept = question.source, question.kept_version, question.kept
    if question.is_due:
        found = places.get(source.name, Found())
        version, groups = found.open_version, open_groups.get(source.name)
        kept = None if found.open_groups and groups is None else tuple(groups or ())
    return Asked(source.name, source.bound, source.heard, version, kept)


def _text(value: str | None) -> str:
    return "cast(null as string)" if value is None else quoted(value)


def _number(value: int | None) -> str:
    return "cast(null as bigint)" if value is None else f"{value}L"
