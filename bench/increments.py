"""What an increment costs behind a history, behind ten times as much, and behind many commits.

One lakehouse in one process that stays. An increment is what one types on a schedule, an ingest
and a `dbt run`. The table is compared at the end, as in the benchmark.
"""

import argparse
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bench import results
from bench.contenders.lakehouse import WarmLakehouse
from bench.results import measured, spread, table
from bench.run import differences, how, progress, work_folder
from bench.topics import FORMATS, HISTORY_MIX, INCREMENT_MIX, PARTITIONS, Partition

WARM_UP = 5  # increments that are not counted, for Java to compile what they need
SMALL = 20  # messages of one of many commits
INGESTS_OF_RUN = 10  # before dbt processes them


class Increments:
    """A lakehouse, and the topic that it is brought up to date from."""

    def __init__(
        self, work: Path, given: argparse.Namespace, tables: int = 1, with_news: int = 1
    ) -> None:
        self.work, self.size, self.repeats = work, given.increment, given.repeat
        self.partitions = [
            Partition(given.format, partition, with_news) for partition in range(PARTITIONS)
        ]
        (work / "home").mkdir()
        self.lakehouse = WarmLakehouse(work / "home", given.format, given.memory, tables)

    def begin(self, messages: int) -> None:
        """Bring in a first history, then increments that are not counted."""
        self.step(messages)
        for _ in range(WARM_UP):
            self.step(self.size, INCREMENT_MIX)

    def step(self, messages: int, mix: tuple[float, float] | None = None) -> float:
        """Bring the next messages into the table; return the seconds."""
        folder = self.land(messages, mix)
        began = time.perf_counter()
        self.lakehouse.step(folder)
        return time.perf_counter() - began

    def land(self, messages: int, mix: tuple[float, float] | None) -> Path:
        """Write the next messages into a folder of their own, which is returned."""
        folder = Path(tempfile.mkdtemp(dir=self.work))
        for partition in self.partitions:
            partition.write(folder, messages, mix)
        return folder

    def small_commits(self, ingests: int) -> None:
        """Do many small ingests, and run dbt from time to time."""
        for ingest in range(1, ingests + 1):
            self.lakehouse.ingest(self.land(SMALL, INCREMENT_MIX))
            if ingest % INGESTS_OF_RUN == 0:
                self.lakehouse.dbt(("run",))

    def differences(self) -> str:
        """Return how the table differs from what all messages make of it."""
        result, expected = self.work / "result.parquet", self.work / "expected.parquet"
        pq.write_table(pa.concat_tables(part.rows() for part in self.partitions), expected)
        self.lakehouse.write_result(result)
        return differences(result, expected)

    def seconds(self) -> list[float]:
        """Time increments."""
        return [self.step(self.size, INCREMENT_MIX) for _ in range(self.repeats)]


def arguments(program: str, description: str) -> argparse.ArgumentParser:
    """Return the arguments of a program that measures increments."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("--format", default="dts_canal", choices=FORMATS)
    parser.add_argument("--messages", type=int, default=100_000, help="of the first history")
    parser.add_argument("--increment", type=int, default=1_000, help="messages")
    parser.add_argument("--repeat", type=int, default=5, help="times that each is run")
    parser.add_argument("--memory", default="4g")
    parser.add_argument("--write", action="store_true", help="into bench/RESULTS.md")
    return parser


def main() -> None:
    """Print what was measured, as Markdown."""
    parser = arguments("python -m bench.increments", __doc__)
    parser.add_argument("--ingests", type=int, default=500, help="commits behind the last ones")
    given = parser.parse_args()
    where = how(given.repeat, given.memory)  # before Spark is there
    with work_folder() as work:
        run = Increments(work, given)
        progress(f"a history of {given.messages:,} messages")
        run.begin(given.messages)
        rows = [[f"{given.messages:,} messages", spread(run.seconds())]]
        progress("ten times as many")
        run.step(given.messages * 9, HISTORY_MIX)
        rows.append([f"{given.messages * 10:,} messages", spread(run.seconds())])
        progress(f"{given.ingests} ingests")
        run.small_commits(given.ingests)
        label = f"{given.messages * 10:,} messages and {given.ingests} ingests of {SMALL}"
        rows.append([label, spread(run.seconds())])
        text = f"{table(('stored', 's'), rows)}\n\nThe table: {run.differences() or 'equal'}."
        run.lakehouse.close()
    name = f"{given.format}, increments of {given.increment:,} messages, warm"
    results.show({(results.GROWTH, name): measured(text, where)}, given.write)


if __name__ == "__main__":
    main()
