"""Decide where a run of a stream begins, so that it skips no offset silently."""

from datetime import datetime

from pyspark.sql import SparkSession

from cdc_lakehouse.bronze import deliveries
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.ingest.kafka.checkpoint import Checkpoint, Position, Unreadable
from cdc_lakehouse.ingest.kafka.cluster import Cluster
from cdc_lakehouse.ingest.kafka.options import (
    Offsets,
    Partition,
    Request,
    write_offsets,
)

EARLIEST = -2  # as Spark's Kafka source writes it


class Start:
    """Finds where a stream stands, what Kafka still has, and what to do about a loss.

    Attributes:
        partitions: those that the request names, as Kafka has them.
        notes: what a person should know of it.
    """

    def __init__(
        self,
        spark: SparkSession,
        request: Request,
        cluster: Cluster,
        checkpoint: Checkpoint,
        began_at: datetime,
    ):
        self.spark, self.request, self.cluster = spark, request, cluster
        self.checkpoint, self.began_at = checkpoint, began_at
        self.notes: list[str] = []
        self._first: Offsets | None = None  # to be read, where it is known before the stream runs

    def look(self) -> None:
        """Ask Kafka for the partitions, and for what it still has of each."""
        self.partitions = self.cluster.partitions(self.request)
        if not self.partitions:
            nothing = (
                f"No topic of {self.cluster.servers} matches {self.request.subscribe_pattern}."
            )
            if self.request.every is None:
                raise LakehouseError(f"{nothing} Correct --subscribe-pattern, or make the topic.")
            self.notes.append(nothing)
        self.earliest, self.latest = self.cluster.extent(self.partitions)

    def starting_options(self) -> dict[str, str]:
        """Return where Spark's source begins, which it heeds only with a checkpoint that is new."""
        position = self._position()
        if position is None:
            return self._first_options()
        following = self._first = self._following(position)
        if following != position.landed:
            self._begin(following)
        everywhere = dict.fromkeys(self.partitions, EARLIEST)
        return {"startingOffsets": write_offsets(everywhere | following)}

    def messages_ahead(self) -> int | None:
        """Return how many offsets there were to read; None if nobody knows before the stream runs.

        It is known once `starting_options` has been asked.
        """
        if self._first is None:
            return None
        first = self.earliest | self._first
        return sum(max(0, self.latest[each] - first[each]) for each in self.partitions)

    def _position(self) -> Position | None:
        """Return where the stream stands, None if it has not begun.

        Raises:
            LakehouseError: the checkpoint is lost, and nobody has asked to recover it.
        """
        lost = ""
        if self.checkpoint.exists():
            try:
                position = self.checkpoint.position()
                if position.landed or position.planned:
                    return position
            except Unreadable as error:
                lost = f"The checkpoint {self.checkpoint.path} {error}"
        in_bronze = deliveries.next_offsets(self.spark, {topic for topic, _ in self.partitions})
        if not lost and not in_bronze.keys() & self.partitions:
            return None
        following = {each: in_bronze.get(each, self.earliest[each]) for each in self.partitions}
        if self.request.recover:
            self._begin(following)
            return Position(following, {})
        chosen = self.request.starting_offsets or self.request.starting_timestamp is not None
        if chosen and not lost:
            return None
        lost = (
            lost or f"There is no checkpoint {self.checkpoint.path}, but bronze has these topics."
        )
        raise LakehouseError(
            f"{lost} Run again with --recover to continue after what bronze has: from "
            f"{_listed(following)}."
        )

    def _first_options(self) -> dict[str, str]:
        """Return where a stream begins that has never begun."""
        if self.request.starting_timestamp is not None:
            latest = {"startingOffsetsByTimestampStrategy": "latest"}
            return {"startingTimestamp": str(self.request.starting_timestamp), **latest}
        chosen = self.request.explicit_offsets()
        if chosen or self.request.starting_offsets != "latest":
            self._first = {each: offset for each, offset in chosen.items() if offset >= 0}
        if not chosen:
            return {"startingOffsets": self.request.starting_offsets or "earliest"}
        for each, offset in chosen.items():
            if each not in self.partitions:
                raise LakehouseError(f"--starting-offsets names {_name(each)}, which is not read.")
            if offset >= 0 and not self.earliest[each] <= offset <= self.latest[each]:
                raise LakehouseError(
                    f"--starting-offsets: Kafka has {_name(each)} from {self.earliest[each]:,} to "
                    f"before {self.latest[each]:,}, not {offset:,}. Choose one of these."
                )
        return {"startingOffsets": write_offsets(dict.fromkeys(self.partitions, EARLIEST) | chosen)}

    def _following(self, position: Position) -> Offsets:
        """Return where to go on, once Kafka was asked whether all is there that was not yet read.

        Raises:
            LakehouseError: it is not, and nobody has accepted that.
        """
        known = {each: n for each, n in position.landed.items() if self.covers(each)}
        for each in sorted(position.landed.keys() - known.keys()):
            self.notes.append(f"{_name(each)} is no longer read; bronze keeps what it has.")
        gone = sorted(known.keys() - self.partitions)
        there = {each: offset for each, offset in known.items() if each in self.partitions}
        self._refuse_other_topics(there, position.planned)
        following = there | self._added(there)
        gaps = [
            (*each, offset, self.earliest[each] - 1)
            for each, offset in sorted(following.items())
            if offset < self.earliest[each]
        ]
        if (gaps or gone) and not self.request.accept_gaps:
            raise LakehouseError(self._loss(gaps, {each: known[each] for each in gone}))
        if gaps:
            deliveries.record_gaps(self.spark, gaps, self.began_at)
        for topic, number, first, last in gaps:
            self.notes.append(
                f"Accepted: {topic}/{number} lacks {_range(first, last)}, which Kafka deleted "
                "before they were read; bronze.offset_gaps says so."
            )
        for each in gone:
            self.notes.append(f"Accepted: {_name(each)} is gone from Kafka.")
        return {each: max(offset, self.earliest[each]) for each, offset in following.items()}

    def covers(self, partition: Partition) -> bool:
        """Tell whether the request names a partition."""
        return self.cluster.covers(self.request, partition)

    def _refuse_other_topics(self, landed: Offsets, planned: Offsets) -> None:
        """Raise if a topic is another one than that which was read under its name."""
        ids = self.checkpoint.topic_ids()
        for each, offset in sorted(landed.items()):
            topic, reached = each[0], max(offset, planned.get(each, 0))
            if ids.get(topic, "") not in ("", self.cluster.ids.get(topic, "")):
                found = f"The topic {topic} was deleted and recreated since it was last read"
            elif reached > self.latest[each]:
                found = (
                    f"{_name(each)} was read up to offset {reached:,}, but Kafka's ends before "
                    f"{self.latest[each]:,}: it was recreated, or cut"
                )
            else:
                continue
            raise LakehouseError(
                f"{found}. Its new messages have offsets that bronze knows for others, so they "
                "cannot be told apart: make it under another name, and read that in its place."
            )

    def _added(self, known: Offsets) -> Offsets:
        """Return where to begin with partitions that are new to the stream, if Spark would not."""
        new = self.partitions - known.keys()
        topics = {topic for topic, _ in known}
        new_topics = {topic for topic, _ in new} - topics
        begin = deliveries.next_offsets(self.spark, new_topics) if new_topics else {}
        # Spark begins a new partition at 0 or not at all. Of a topic that was read before, what
        # Kafka has deleted since is a gap; of another, it is what was before the stream.
        begin |= {
            each: self.earliest[each] if each[0] in new_topics else 0 for each in new - begin.keys()
        }
        return {each: n for each, n in begin.items() if each in new and max(n, self.earliest[each])}

    def _loss(self, gaps: list[tuple[str, int, int, int]], gone: Offsets) -> str:
        found = [
            f"{topic}/{number}, {_range(first, last)}, were deleted before they were read"
            for topic, number, first, last in gaps
        ]
        found += [f"{_name(e)}, read up to offset {n:,}, is gone" for e, n in gone.items()]
        return (
            f"Kafka no longer has all that was to be read: {'; '.join(found)}. If they cannot "
            "be had elsewhere, run again with --accept-gaps: it records them in "
            "bronze.offset_gaps and continues after them."
        )

    def _begin(self, offsets: Offsets) -> None:
        aside = self.checkpoint.begin(offsets)
        if aside:
            self.notes.append(f"The checkpoint was begun again; the old one is {aside}.")


def _name(partition: Partition) -> str:
    topic, number = partition
    return f"{topic}/{number}"


def _range(first: int, last: int) -> str:
    if first == last:
        return f"offset {first:,}"
    return f"offsets {first:,} to {last:,} ({last - first + 1:,})"


def _listed(offsets: Offsets) -> str:
    shown = [f"{_name(each)} at {offset:,}" for each, offset in sorted(offsets.items())]
    more = f" and {len(shown) - 8:,} more" if len(shown) > 8 else ""
    return ", ".join(shown[:8]) + more
