"""Examine a file of messages, refuse it if it is damaged, and stage it as Parquet for Spark."""

import gzip
import hashlib
import os
import re
import stat
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import IO
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cdc_lakehouse.bronze.deliveries import LARGE
from cdc_lakehouse.errors import DISK_FULL, cannot_write
from cdc_lakehouse.ingest.columns import NEEDED, STAGED, Refused, as_staged, renamed
from cdc_lakehouse.ingest.containers import CONTAINER, bodies_of, is_container
from cdc_lakehouse.ingest.names import NO_NAMES, Names
from cdc_lakehouse.ingest.room import Room

PARQUET = ".parquet"
LINES = tuple(end + gz for end in (".json", ".jsonl", ".txt") for gz in ("", ".gz"))
UNFIT_NAME = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
MEBIBYTE = 1 << 20
# What is in memory at once, and in one row group that Spark reads; a single row may be larger.
BATCH_ROWS, BATCH_BYTES = 16_384, 16 * MEBIBYTE
LONGEST = 128 * MEBIBYTE  # bytes of a message; the embedded Spark's 4 GB hold it and its copies

LANDED = (PARQUET, CONTAINER, *LINES)
UNKNOWN = Refused(f"has an unknown extension. Rename it to one of {', '.join(LANDED)}.")
UNFIT = (Refused, OSError, EOFError, zlib.error, pa.ArrowException)


@dataclass
class File:
    """A file, where its lines go (Parquet says so itself), and what staging it has counted."""

    path: str
    size: int  # bytes
    modified_at_ns: int  # since 1970
    changed_at_ns: int = 0  # since 1970; nobody can set it, as the modification time
    digest: str = ""
    # Digests of what the file begins with, by the number of bytes.
    beginnings: dict[int, str] = field(default_factory=dict)
    topic: str | None = None
    partition: int | None = None
    names: Names = NO_NAMES  # under which the topics of Parquet land
    note: str = ""
    read: int = 0  # bytes of the file that have been read to be staged
    unpacked: int = 0  # bytes of its lines or rows
    staged: str = ""  # the name of the file that it is staged in
    bytes: int = 0  # of the values
    longest: int = 0  # bytes of a value
    messages: Counter[str] = field(default_factory=Counter)  # by topic
    highest: dict[str, int] = field(default_factory=dict)  # partition, by topic
    # The first and the last offset of each topic and partition, and whether all rise.
    offsets: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    rises: bool = True

    @property
    def is_large(self) -> bool:
        """Whether a message is so large that Spark takes one at a time."""
        return self.longest > BATCH_BYTES


def describe(path: str) -> File:
    """Return size and modification time of a file.

    Raises:
        Refused, OSError: it is no regular file, or cannot be reached.
    """
    if UNFIT_NAME.search(path):
        raise Refused("has a name with control characters, or not in UTF-8. Rename it.")
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise Refused("is not a regular file. Remove it.")
    return File(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def digest_of(path: str) -> str:
    """Return the BLAKE2b digest of a file's bytes, hexadecimal."""
    return digests_of(path, ())[0]


def digests_of(path: str, sizes: Iterable[int]) -> tuple[str, dict[int, str]]:
    """Return the digest of a file's bytes, and those of its first bytes, by their number.

    Left out are sizes at which the file does not end or go on with another line.
    """
    digest, beginnings, read, last = hashlib.blake2b(), {}, 0, b"\n"
    with open(path, "rb") as file:
        for size in sorted(set(sizes)):
            while read < size and (block := file.read(min(MEBIBYTE, size - read))):
                digest.update(block)
                read, last = read + len(block), block[-1:]
            if read == size and last == b"\n":
                beginnings[size] = digest.hexdigest()
        while block := file.read(MEBIBYTE):
            digest.update(block)
    return digest.hexdigest(), beginnings


def is_parquet(path: str) -> bool:
    """Tell a Parquet file from a line file."""
    return path.lower().endswith(PARQUET)


def is_compressed(path: str) -> bool:
    """Tell a file whose bytes do not begin with its lines: one that is gzipped, or a container."""
    return path.lower().endswith(".gz") or is_container(path)


def stage(file: File, folder: Path, room: Room | None = None) -> File:
    """Write a file's messages to a Parquet file in `folder`, count them in `file` and return it.

    Reading every byte here means that Spark, for which one bad file spoils the commit, meets none;
    and that nobody changes what it reads.

    Raises:
        one of UNFIT: the file cannot be landed, or there is no room for it; nothing of it is left
            in `folder`.
    """
    room = room or Room(folder)
    target = folder / f"{uuid4().hex}.parquet"
    try:
        # Statistics would hold two further copies of a large value, and nobody asks for them.
        options = {"use_dictionary": ["topic"], "write_statistics": False}
        with pq.ParquetWriter(target, STAGED, **options) as writer:
            for read in _parquet_batches(file) if is_parquet(file.path) else _line_batches(file):
                columns = [as_staged(read, column) for column in STAGED]
                columns[0] = renamed(columns[0], file.names)
                batch = pa.record_batch(columns, STAGED)
                _count(file, batch)
                room.check(file.unpacked, target.stat().st_size, file.bytes, file.is_large)
                for part in _row_groups(batch):
                    writer.write_batch(part)
        now = describe(file.path)
        if (now.size, now.modified_at_ns) != (file.size, file.modified_at_ns):
            raise Refused("changed while it was read. Run again when it is complete.")
        room.take(target.stat().st_size, file.bytes, file.is_large)
        file.staged = f"{LARGE}{target.name}" if file.is_large else target.name
        target.rename(folder / file.staged)
    except UNFIT as error:
        target.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            raise Refused(f"cannot be staged: {cannot_write(folder, error)}") from None
        raise
    finally:
        file.read = file.size  # there is no more to be read, sound or not
    return file


def _count(file: File, batch: pa.RecordBatch) -> None:
    for name in NEEDED[:3]:
        if batch[name].null_count:
            raise Refused(f"has a row without {name}. Export it again with every {name}.")
    topics = pa.Table.from_batches([batch]).select(["topic", "partition"]).group_by("topic")
    for row in topics.aggregate([("partition", "max"), ("partition", "count")]).to_pylist():
        topic = row["topic"]
        file.messages[topic] += row["partition_count"]
        file.highest[topic] = max(row["partition_max"], file.highest.get(topic, -1))
    file.rises = file.rises and _rises(file, batch)
    lengths = pc.binary_length(batch["value"])
    longest = pc.max(lengths).as_py() or 0
    file.longest = max(longest, file.longest)
    if longest > LONGEST:
        raise Refused(
            f"has a message of {longest:,} bytes; Spark can hold {LONGEST:,} of "
            "them. Export the file without that message."
        )
    file.bytes += pc.sum(lengths).as_py() or 0


def _rises(file: File, batch: pa.RecordBatch) -> bool:
    """Tell whether the offsets of each topic and partition rise, and note the ends of them."""
    topic, partition, offset = (batch[name] for name in NEEDED[:3])
    goes_on = pc.and_(*(pc.equal(each[1:], each[:-1]) for each in (topic, partition)))
    if pc.any(pc.and_(goes_on, pc.less_equal(offset[1:], offset[:-1]))).as_py():
        return False
    ends = [row + 1 for row in pc.indices_nonzero(pc.invert(goes_on)).to_pylist()]
    for begin, end in pairwise(dict.fromkeys([0, *ends, batch.num_rows])):
        place = topic[begin].as_py(), partition[begin].as_py()
        first, last = offset[begin].as_py(), offset[end - 1].as_py()
        if place in file.offsets:
            earliest, latest = file.offsets[place]
            if first <= latest:
                return False
            first = earliest
        file.offsets[place] = first, last
    return True


def come_once(files: Sequence[File]) -> bool:
    """Tell whether no message is in some files twice; only if offsets rise it is known."""
    runs = sorted((*place, *ends) for file in files for place, ends in file.offsets.items())
    return all(file.rises for file in files) and all(
        earlier[:2] != later[:2] or earlier[3] < later[2] for earlier, later in pairwise(runs)
    )


def _row_groups(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split a batch whose large values came together, for Spark has a whole one in memory."""
    first, size = 0, 0
    for number, length in enumerate(pc.binary_length(batch["value"]).to_pylist()):
        if number > first and size + (length or 0) > BATCH_BYTES:
            yield batch.slice(first, number - first)
            first, size = number, 0
        size += length or 0
    yield batch.slice(first)


def _line_batches(file: File) -> Iterator[pa.RecordBatch]:
    modified_at = pa.scalar(file.modified_at_ns // 1000, pa.timestamp("us", "UTC"))
    same = {"topic": file.topic, "partition": file.partition}
    same |= {"timestamp": modified_at, "timestampType": 0}
    first = 0
    for values in lines_of(file):
        columns = {name: pa.repeat(value, len(values)) for name, value in same.items()}
        columns["offset"] = pa.array(range(first, first + len(values)))
        yield pa.record_batch(columns | {"value": pa.array(values, pa.binary())})
        first += len(values)


def lines_of(file: File) -> Iterator[list[bytes | None]]:
    """Yield the lines of a file, many at a time, and count what was read of it in `file`.

    Those of a container are its messages, of which one may have no value.

    Raises:
        one of UNFIT: the file cannot be landed.
    """
    if (is_gzip := file.path.lower().endswith(".gz")) and file.size == 0:
        raise EOFError  # gzip takes no bytes at all for a whole file
    file.unpacked = 0
    with open(file.path, "rb") as raw, gzip.open(raw) if is_gzip else raw as lines:
        bodies = bodies_of(raw, BATCH_ROWS, BATCH_BYTES)
        for values in bodies if is_container(file.path) else _batches_of(lines):
            file.read = raw.tell()
            file.unpacked += sum(len(value or b"") for value in values) + len(values)
            yield values


def _batches_of(lines: IO[bytes] | gzip.GzipFile) -> Iterator[list[bytes | None]]:
    first = 0
    while values := _take_lines(lines, first):
        yield values
        first += len(values)


def _take_lines(lines: IO[bytes] | gzip.GzipFile, first: int) -> list[bytes | None]:
    values: list[bytes | None] = []
    size = 0
    while len(values) < BATCH_ROWS and size < BATCH_BYTES:
        line = lines.readline(LONGEST + 1)
        if not line:
            break
        if len(line) > LONGEST:
            raise Refused(
                f"has more than {LONGEST:,} bytes in line {first + len(values) + 1:,}, more "
                "than Spark can hold. Write one message a line."
            )
        values.append(line.removesuffix(b"\n").removesuffix(b"\r") if line[-1:] == b"\n" else line)
        size += len(line)
    return values


def _parquet_batches(file: File) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(
        file.path,
        buffer_size=MEBIBYTE,  # else a whole column of a row group is in memory
        coerce_int96_timestamp_unit="us",
        page_checksum_verification=True,
    ) as parquet:
        names = parquet.schema_arrow.names
        wrong = [n for n in STAGED.names if names.count(n) not in ((1,) if n in NEEDED else (0, 1))]
        if wrong:
            raise Refused(
                f"lacks {', '.join(wrong)} (or has it twice); its columns are {', '.join(names)}. "
                "Export it in the shape of Spark's Kafka source."
            )
        groups = [parquet.metadata.row_group(n) for n in range(parquet.num_row_groups)]
        largest = max((g.total_byte_size // g.num_rows for g in groups if g.num_rows), default=0)
        rows = min(BATCH_ROWS, max(1, BATCH_BYTES // max(1, largest)))
        share = file.size / max(1, parquet.metadata.num_rows)  # bytes of a row
        for batch in parquet.iter_batches(rows, columns=[n for n in STAGED.names if n in names]):
            file.unpacked += batch.nbytes
            yield batch
            file.read += round(batch.num_rows * share)
