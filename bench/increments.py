"""What an increment costs behind a history, behind ten times as much, and behind many commits.

One lakehouse in one process that stays. An increment is what one types on a schedule, an ingest
and a `dbt run`. The table is compared at the end, as in the benchmark.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bench.contenders.lakehouse import WarmLakehouse
from bench.run import differences, machine, progress
from bench.topics import (
    FORMATS,
    HISTORY_MIX,
    INCREMENT_MIX,
    MESSAGES_OF_FILE,
    NAMES,
    PARTITIONS,
    TOPIC,
    WRITERS,
    Source,
    messages_of,
)

HERE = Path(__file__).parent
WARM_UP = 5  # increments that are not counted, for Java to compile what they need
SMALL = 20  # messages of one of many commits
INGESTS_OF_RUN = 10  # before dbt settles them


class Topic:
    """The messages of one topic, made in the order of their offsets."""

    def __init__(self, format: str, folder: Path) -> None:
        self.write, self.folder, self.parts = WRITERS[format](), folder, 0
        self.sources = [Source(partition) for partition in range(PARTITIONS)]
        self.offsets = [0] * PARTITIONS

    def next(self, messages: int, mix: tuple[float, float] | None = None) -> Path:
        """Write the next messages, and return the folder of their files.

        Args:
            messages: how many, divided over the partitions.
            mix: shares of inserts and updates; None is a history of its own, full load first.
        """
        folder = self.folder / f"{self.parts:04d}"
        folder.mkdir(parents=True)
        self.parts += 1
        for partition, source in enumerate(self.sources):
            share = messages // PARTITIONS
            changes = source.changes(share, mix) if mix else source.history(share)
            while batch := list(islice(changes, MESSAGES_OF_FILE)):
                offset = self.offsets[partition]
                table = messages_of(batch, self.write, partition, offset)
                pq.write_table(table, folder / f"{TOPIC}-{partition}-{offset:09d}.parquet")
                self.offsets[partition] += len(batch)
        return folder

    def write_expected(self, path: Path) -> None:
        """Write the table that all messages so far make."""
        columns = zip(*(row for source in self.sources for row in source.rows()), strict=True)
        arrays = [pa.array(column, pa.string()) for column in columns]
        pq.write_table(pa.table(arrays, list(NAMES)), path)


class Increments:
    """A lakehouse, and the topic that it is brought up to date from."""

    def __init__(self, work: Path, format: str, size: int, repeats: int, memory: str) -> None:
        self.topic, self.size, self.repeats = Topic(format, work / "topic"), size, repeats
        (work / "home").mkdir()
        self.lakehouse = WarmLakehouse(work / "home", format, memory)

    def step(self, messages: int, mix: tuple[float, float] | None = None) -> float:
        """Bring the next messages into the table; return the seconds."""
        folder = self.topic.next(messages, mix)
        began = time.perf_counter()
        self.lakehouse.step(folder)
        took = time.perf_counter() - began
        shutil.rmtree(folder)
        return took

    def small_commits(self, ingests: int) -> None:
        """Do many small ingests, and run dbt from time to time."""
        for ingest in range(1, ingests + 1):
            folder = self.topic.next(SMALL, INCREMENT_MIX)
            self.lakehouse.ingest(folder)
            shutil.rmtree(folder)
            if ingest % INGESTS_OF_RUN == 0:
                self.lakehouse.dbt(("run",))

    def row(self, label: str) -> str:
        """Time increments; return a line of the table, with their median and each of them."""
        seconds = [self.step(self.size, INCREMENT_MIX) for _ in range(self.repeats)]
        each = " ".join(f"{one:.1f}" for one in seconds)
        return f"| {label} | {statistics.median(seconds):.1f} | {each} |"


def main() -> None:
    """Print what was measured, as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m bench.increments", description=__doc__)
    parser.add_argument("--format", default="dts_canal", choices=FORMATS)
    parser.add_argument("--messages", type=int, default=100_000, help="of the first history")
    parser.add_argument("--increment", type=int, default=1_000, help="messages")
    parser.add_argument("--ingests", type=int, default=500, help="commits behind the last ones")
    parser.add_argument("--repeat", type=int, default=5, help="medians of so many")
    parser.add_argument("--memory", default="4g")
    given = parser.parse_args()
    (HERE / ".work").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=HERE / ".work") as folder:
        work = Path(folder)
        run = Increments(work, given.format, given.increment, given.repeat, given.memory)
        print(f"{machine()}\n\n| {given.increment:,} messages behind | s | each |\n|---|---|---|")
        progress(f"a history of {given.messages:,} messages")
        run.step(given.messages)
        for _ in range(WARM_UP):
            run.step(given.increment, INCREMENT_MIX)
        print(run.row(f"{given.messages:,}"), flush=True)
        progress("ten times as many")
        run.step(given.messages * 9, HISTORY_MIX)
        print(run.row(f"{given.messages * 10:,}"), flush=True)
        progress(f"{given.ingests} ingests")
        run.small_commits(given.ingests)
        print(run.row(f"{given.messages * 10:,} and {given.ingests} ingests"), flush=True)
        run.topic.write_expected(work / "expected.parquet")
        run.lakehouse.write_result(work / "result.parquet")
        run.lakehouse.close()
        wrong = differences(work / "result.parquet", work / "expected.parquet")
        print(f"\nThe table: {wrong or 'equal'}.")


if __name__ == "__main__":
    main()
