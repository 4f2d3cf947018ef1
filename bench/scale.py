"""How what this project costs grows: with messages, and with the history behind.

One format is enough for that. Each row is one run, cold: every step begins with two new processes,
as on a schedule. The table is compared as in the benchmark.
"""

import argparse
import shutil
from pathlib import Path

from bench import results
from bench.results import measured, table
from bench.run import OURS, Measured, how, progress, run_contender, work_folder
from bench.topics import STEPS, generate

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


def row(label: str, run: Measured) -> list[str]:
    """Return the line of one run."""
    return [
        label,
        f"{run.seconds.get(STEPS[0], 0):.1f}",
        *(f"{run.stages.get(stage, 0):.1f}" for stage in ("ingest", "silver", "gold")),
        f"{run.cpu:.0f}",
        f"{run.memory / 2**30:.1f} GiB",
        f"{run.bytes / 1e6:,.0f} MB",
        " / ".join(f"{run.seconds[step]:.1f}" for step in STEPS[1:] if step in run.seconds),
        f"WRONG: {run.wrong}" if run.wrong else "equal",
    ]


def main() -> None:
    """Print what was measured, as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--messages", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--histories", type=int, nargs="+", default=[1, 10], metavar="K")
    parser.add_argument("--increments-of", type=int, default=20_000, help="messages, of which 1 %%")
    parser.add_argument("--memory", default="4g")
    parser.add_argument("--write", action="store_true", help="into bench/RESULTS.md")
    given = parser.parse_args()
    with work_folder() as work:
        sizes = [row(f"{size:,}", measure(work, size, 1, given.memory)) for size in given.messages]
        size = given.increments_of
        longer = [
            row(f"{size * history:,}", measure(work, size, history, given.memory))
            for history in given.histories
        ]
    where = how(1, given.memory)
    name = f"{FORMAT}, new processes"
    parts = {
        (results.HISTORY, name): table(("messages", *COLUMNS), sizes),
        (results.GROWTH, name): table(("messages of history", *COLUMNS), longer),
    }
    results.show({part: measured(text, where) for part, text in parts.items()}, given.write)


if __name__ == "__main__":
    main()
