"""How what this project costs grows: with messages, with the history behind, with gold tables.

One format is enough for that. Each row is one run, cold: every step begins with two new processes,
as on a schedule. The table is compared as in the benchmark.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from bench.contenders.lakehouse import TABLE, WarmLakehouse
from bench.run import OURS, Measured, machine, progress, run_contender
from bench.topics import STEPS, generate

HERE = Path(__file__).parent
FORMAT = "dts_canal"
COLUMNS = ("history s", "ingest s", "silver s", "gold s", "CPU s", "peak memory", "on disk")
COLUMNS += ("increments s", "table")


def measure(work: Path, messages: int, history: int, memory: str) -> Measured:
    """Run all steps of a topic once, cold."""
    topics = work / "topics" / f"{FORMAT}-{messages}x{history}"
    generate(topics, FORMAT, messages, history)
    progress(f"{messages * history:,} messages of history, increments of {messages:,}")
    run = run_contender(OURS, "cold", FORMAT, topics, work / "work" / OURS, memory)
    shutil.rmtree(work / "work", ignore_errors=True)
    return run


def header(first: str, columns: tuple[str, ...] = COLUMNS) -> str:
    """Return the first two lines of a table."""
    return f"\n| {' | '.join([first, *columns])} |\n{'|---' * (len(columns) + 1)}|"


def row(label: str, run: Measured) -> str:
    """Return the line of one run."""
    cells = [
        label,
        f"{run.seconds.get(STEPS[0], 0):.1f}",
        *(f"{run.stages.get(stage, 0):.1f}" for stage in ("ingest", "silver", "gold")),
        f"{run.cpu:.0f}",
        f"{run.memory / 2**30:.1f} GiB",
        f"{run.bytes / 1e6:,.0f} MB",
        " / ".join(f"{run.seconds[step]:.1f}" for step in STEPS[1:] if step in run.seconds),
        f"WRONG: {run.wrong}" if run.wrong else "equal",
    ]
    return f"| {' | '.join(cells)} |"


def tables(work: Path, counts: Iterable[int], memory: str) -> list[str]:
    """Return the lines of runs with so many gold tables of the same source table, warm.

    Each has the first load, an increment of 20 messages that concerns all tables, and nothing new
    (medians of three).
    """
    topics = work / "topics" / f"{FORMAT}-2000x1"
    generate(topics, FORMAT, 2000)
    lines = []
    for count in counts:
        progress(f"{count} gold tables")
        shutil.rmtree(work / "work", ignore_errors=True)
        lakehouse = WarmLakehouse(work / "work", FORMAT, memory)
        add_tables(lakehouse.project, count - 1)
        try:
            lakehouse.step(topics / STEPS[0])
            lakehouse.step(topics / STEPS[1])  # the second of a kind is warm
            seconds = [_seconds(lakehouse, topics / STEPS[2])]
            nothing = [_seconds(lakehouse, topics / STEPS[3]) for _ in range(3)]
            seconds.append(statistics.median(nothing))
        finally:
            lakehouse.close()
        lines.append(f"| {count} | {' | '.join(f'{each:.1f}' for each in seconds)} |")
    return lines


def add_tables(project: Path, count: int) -> None:
    """Give a project more gold tables, all like the one of the benchmark."""
    folder = project / "models" / "gold" / "shop"
    described = (folder / "_shop.yml").read_text()
    for number in range(1, count + 1):
        name = f"{TABLE}_{number}"
        shutil.copy(folder / f"{TABLE}.sql", folder / f"{name}.sql")
        yaml = described.replace(f'"name": "{TABLE}"', f'"name": "{name}"')
        (folder / f"_{name}.yml").write_text(yaml)


def _seconds(lakehouse: WarmLakehouse, folder: Path) -> float:
    began = time.perf_counter()
    lakehouse.step(folder)
    return time.perf_counter() - began


def main() -> None:
    """Print what was measured, as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--messages", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--histories", type=int, nargs="+", default=[1, 10], metavar="K")
    parser.add_argument("--increments-of", type=int, default=20_000, help="messages, 1 % of which")
    parser.add_argument("--tables", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--memory", default="4g")
    given = parser.parse_args()
    (HERE / ".work").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=HERE / ".work") as folder:
        work = Path(folder)
        print(machine())
        print(header("messages"))
        for messages in given.messages:
            print(row(f"{messages:,}", measure(work, messages, 1, given.memory)), flush=True)
        print(header("history of"))
        for history in given.histories:
            size = given.increments_of
            run = measure(work, size, history, given.memory)
            print(row(f"{size * history:,}", run), flush=True)
        print(header("gold tables", ("20 messages for all s", "nothing new s")))
        for line in tables(work, given.tables, given.memory):
            print(line, flush=True)


if __name__ == "__main__":
    main()
