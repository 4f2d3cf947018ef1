"""Read the checkpoint of a Kafka stream before Spark does; set it aside or begin a new one.

Spark keeps in it the offsets up to which each micro-batch reads (offsets/N, written before the
batch), that the batch ended (commits/N), and where the first batch began (sources/0/0).
"""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.delta.log import last_commit
from cdc_lakehouse.delta.past import identifier_of, read_mark, why_not_of_past
from cdc_lakehouse.errors import short_message
from cdc_lakehouse.ingest.kafka.options import Offsets, read_offsets, write_offsets
from cdc_lakehouse.runtime.jvm import java_session, jvm_of
from cdc_lakehouse.runtime.paths import lakehouse_dir
from cdc_lakehouse.storage.files import Location, fitting, write_whole
from cdc_lakehouse.storage.objects import ObjectPath

STARTING_OFFSETS = "starting_offsets.json"
TOPIC_IDS = "topic_ids.json"
BRONZE = "bronze.json"  # the commit of bronze.messages that was the latest at the last run
AT = ("version", "commit")
SPARKS = ("metadata", "sources", "offsets", "commits")


class Unreadable(Exception):
    """What is wrong with a checkpoint: the rest of a sentence that begins with its path."""


@dataclass
class Position:
    """Where a stream stands: what bronze has of it, and the end of a batch it has not, if any."""

    landed: Offsets
    planned: Offsets


_Read = TypeVar("_Read")


def _newest(folder: Location) -> int:
    """The number of the newest batch that a folder of a checkpoint has a file of; -1 of none."""
    names = [path.name for path in folder.glob("[0-9]*")]
    return max((int(name) for name in names if name.isdecimal()), default=-1)


def partitions_read() -> Offsets:
    """Return up to where Kafka has been read, of all streams; what cannot be read tells nothing."""
    found: Offsets = {}
    for stream in fitting(lakehouse_dir() / "checkpoints" / "kafka", "*"):
        newest = _newest(stream / "commits")
        with suppress(OSError, ValueError, TypeError, AttributeError):
            said = (stream / "offsets" / str(newest)).read_text().splitlines()[-1]
            for partition, offset in read_offsets(said).items():
                found[partition] = max(offset, found.get(partition, 0))
    return found


class Checkpoint:
    """LAKEHOUSE_DIR/checkpoints/kafka/<name>, in object storage the newest <name>.<moment>, too."""

    def __init__(self, spark: SparkSession, name: str):
        self.spark = spark
        self.path = self._first = lakehouse_dir() / "checkpoints" / "kafka" / name
        if isinstance(self.path, ObjectPath):
            later = self.path.parent.glob(f"{name}.*Z")
            self.path = max(filter(self._is_begun, later), default=self.path)
            return
        self._next = self.path.with_name(f"{name}.next")
        # The leftovers of a run that was killed in `begin`; an old checkpoint that is there counts.
        if not self.path.exists() and (self._next / STARTING_OFFSETS).exists():
            self._next.rename(self.path)
        shutil.rmtree(self._next, ignore_errors=True)

    def exists(self) -> bool:
        """Tell whether a stream has begun here, or was told where to begin."""
        return any((self.path / name).exists() for name in (*SPARKS, STARTING_OFFSETS))

    @staticmethod
    def _is_begun(path: ObjectPath) -> bool:
        return (path / STARTING_OFFSETS).exists()

    def begin(self, offsets: Offsets) -> Location | None:
        """Set what is there aside and have the next stream begin at `offsets`.

        A kill at any moment leaves either the old checkpoint or the new one.

        Returns:
            Where the old checkpoint is now, if there was one.
        """
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        beside = self._first.with_name(f"{self._first.name}.{moment}")
        # Both lie in object storage, where nothing can be renamed at once, or none does.
        if isinstance(beside, ObjectPath) or isinstance(self.path, ObjectPath):
            aside = self.path if self.path.exists() else None
            write_whole(beside / STARTING_OFFSETS, write_offsets(offsets))
            self.path = beside
            return aside
        write_whole(self._next / STARTING_OFFSETS, write_offsets(offsets))
        aside = self.path.rename(beside) if self.path.exists() else None
        self._next.rename(self.path)
        return aside

    def position(self) -> Position:
        """Return where the stream stands.

        Raises:
            Unreadable: a file of Spark's is missing, damaged, or older than what bronze has.
        """
        if not any((self.path / name).exists() for name in SPARKS):
            return Position(self._json(STARTING_OFFSETS, read_offsets), {})
        query: str = self._json("metadata", lambda text: json.loads(text)["id"])
        planned, ended = _newest(self.path / "offsets"), _newest(self.path / "commits")
        if ended >= 0:
            self._lines(f"commits/{ended}")
        mark = read_mark(self.spark, bronze.folder_of(bronze.MESSAGES), query)
        if ended > mark.number or mark.went_back:
            has = f"bronze.messages has it up to batch {mark.number}" if mark.number >= 0 else ""
            raise Unreadable(
                f"has read up to batch {max(ended, mark.newest)}, but "
                f"{has or 'bronze.messages has no batch of it'}: bronze was restored, copied back "
                "or made again."
            )
        self._refuse_other_bronze()
        landed = mark.number
        if landed > planned:
            raise Unreadable(f"lacks offsets/{landed}, a batch that bronze has.")
        if landed < planned - 1:
            raise Unreadable(f"lacks commits/{planned - 1}.")
        position = Position(self._offsets(landed), {})
        if planned > landed:
            position.planned = self._offsets(planned)
        return position

    def _refuse_other_bronze(self) -> None:
        """Raise if bronze has not come through the commit that it was at when this was last used.

        Raises:
            Unreadable: it has not.
        """
        if not (self.path / BRONZE).exists():
            return
        known: list[Any] = self._json(BRONZE, lambda text: [json.loads(text)[n] for n in AT])
        found = why_not_of_past(bronze.folder_of(bronze.MESSAGES), *known)
        if found:
            raise Unreadable(
                f"was used with bronze.messages at commit {known[0]}, but bronze.messages {found}: "
                "it was restored, copied back or made again."
            )

    def keep_bronze(self) -> None:
        """Note at which commit bronze.messages is; what lands later comes after it."""
        folder = bronze.folder_of(bronze.MESSAGES)
        version = last_commit(folder)
        commit = None if version is None else identifier_of(folder, version)
        known = {"version": version, "commit": commit}
        write_whole(self.path / BRONZE, json.dumps(known))

    def topic_ids(self) -> dict[str, str]:
        """Return the ids that the topics had when they were first read."""
        return self._json(TOPIC_IDS, json.loads) if (self.path / TOPIC_IDS).exists() else {}

    def keep_topic_ids(self, ids: dict[str, str]) -> None:
        """Add the ids of topics that are new to the stream."""
        write_whole(self.path / TOPIC_IDS, json.dumps(ids | self.topic_ids(), indent=1))

    def _offsets(self, batch: int) -> Offsets:
        if batch >= 0:
            return self._parsed(f"offsets/{batch}", self._lines(f"offsets/{batch}")[-1])
        if (self.path / "sources/0/0").exists():
            return self._parsed("sources/0/0", self._lines("sources/0/0")[-1])
        if (self.path / STARTING_OFFSETS).exists():
            return self._json(STARTING_OFFSETS, read_offsets)
        if _newest(self.path / "offsets") >= 0:
            raise Unreadable("lacks sources/0/0.")
        return {}

    def _parsed(self, name: str, line: str) -> Offsets:
        try:
            return {} if line == "-" else read_offsets(line)
        except (ValueError, TypeError, AttributeError):
            raise Unreadable(f"has no offsets in {name}.") from None

    def _lines(self, name: str) -> list[str]:
        lines = self._text(name).lstrip("\0").splitlines()
        if not lines or not lines[0].startswith("v") or len(lines) < 2:
            raise Unreadable(f"has nothing that Spark wrote in {name}.")
        return lines

    def _json(self, name: str, read: Callable[[str], _Read]) -> _Read:
        try:
            return read(self._text(name))
        except (ValueError, TypeError, AttributeError, KeyError):
            raise Unreadable(f"has no sound JSON in {name}.") from None

    def _text(self, name: str) -> str:
        """Read a file as Spark does, which knows the digest of what it wrote."""
        jvm = jvm_of(self.spark)
        path = jvm.org.apache.hadoop.fs.Path(str(self.path / name))
        try:
            hadoop = java_session(self.spark).sparkContext().hadoopConfiguration()
            stream = path.getFileSystem(hadoop).open(path)
            try:
                text: str = jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
                return text
            finally:
                stream.close()
        except Py4JJavaError as error:
            reason = short_message(error).splitlines()[0]
            raise Unreadable(f"cannot be read in {name}: {reason}.") from None
