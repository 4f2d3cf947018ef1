"""Tell whether a file continues what has landed from it, or was rewritten under its name.

A line file has a number of its own in the place of a partition. It keeps its number as long as it
begins with the lines that have landed under it. Other content gets another number.
"""

from collections.abc import Iterator
from hashlib import sha256
from itertools import chain, groupby, islice

from pyspark.sql import Row, SparkSession

from cdc_lakehouse.bronze import deliveries
from cdc_lakehouse.ingest.files import (
    UNFIT,
    File,
    describe,
    digests_of,
    is_compressed,
    lines_of,
)

# Under how many numbers, the newest of a file, its lines are looked for where its bytes tell
# nothing: all would be the whole history of a file that is rewritten each day.
ASKED = 4


def new_file(path: str, landed: list[Row]) -> File | None:
    """Return a file with its digest, or None if it has landed with the bytes that it has.

    Args:
        landed: what bronze.landed_files has of the path.

    Raises:
        one of UNFIT: the file cannot be landed.
    """
    file = describe(path)
    if any(_is_untouched(file, row) for row in landed):
        return None
    sizes = {row.size for row in landed if row.partition is not None}
    if is_compressed(path):
        sizes = set()  # what its lines begin with, its bytes do not say
    file.digest, file.beginnings = digests_of(path, sizes)
    if any(row.digest == file.digest for row in landed):
        return None
    if landed:
        file.note = f"{path} has changed since it was landed: landed again as a whole."
    return file


def _is_untouched(file: File, row: Row) -> bool:
    """Tell, without reading it, whether nobody has written a file since it landed.

    A writer can set any modification time, but not the time of the last change of the inode.
    """
    same = (file.size, file.modified_at_ns) == (row.size, row.modified_at_ns)
    return same and file.changed_at_ns < row.landed_at.timestamp() * 1e9


def numbers_of(
    spark: SparkSession, files: list[File], known: dict[str, list[Row]]
) -> dict[str, int]:
    """Return by path the numbers of the line files that go on with what has landed of them."""
    numbers: dict[str, int] = {}
    asked: dict[tuple[str, int], tuple[File, int]] = {}  # with the lines that have landed
    for file in files:
        if file.topic is None:
            continue
        landed: dict[int, list[Row]] = {}
        for row in sorted(known.get(file.path, []), key=lambda row: row.batch, reverse=True):
            if row.topic == file.topic and row.partition is not None:
                landed.setdefault(row.partition, []).append(row)
        goes_on = (n for n, rows in landed.items() if _begins_with(file, rows))
        if (number := next(goes_on, None)) is not None:
            numbers[file.path] = number
            continue
        for number, rows in islice(landed.items(), ASKED):
            asked[file.topic, number] = file, max(row.messages for row in rows)
    found = deliveries.landed_lines(spark, asked) if asked else iter(())
    answers = {
        place: begins_alike(*asked[place], (tuple(row[2:]) for row in rows))
        for place, rows in groupby(found, key=lambda row: (row.topic, row.partition))
    }
    for (topic, number), (file, lines) in asked.items():
        # Bronze has nothing of a file without lines.
        if answers.get((topic, number), lines == 0):
            numbers.setdefault(file.path, number)
    return numbers


def _begins_with(file: File, landed: list[Row]) -> bool:
    """Tell by the bytes whether a file begins with all that has landed under one number."""
    return all(file.beginnings.get(row.size) == row.digest for row in landed)


def begins_alike(file: File, count: int, landed: Iterator[tuple[int, str | None]]) -> bool:
    """Tell by the lines whether a file begins with what has landed, or is a part of that.

    Args:
        file: as it is now.
        count: lines that have landed; if bronze has fewer, nobody can know what the others were.
        landed: offset and SHA-256 of the lines that bronze has, by offset.
    """
    try:
        lines = chain.from_iterable(lines_of(file))
        for number, line in enumerate(lines):
            found = next(landed, None)
            if found is None:
                return number >= count
            if found != (number, None if line is None else sha256(line).hexdigest()):
                return False
    except UNFIT:
        return False  # staging says why
    return True
