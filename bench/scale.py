"""How what this project costs grows: with messages, and with the history behind.

One format is enough for that. Each row is one run, cold: every step begins with two new processes,
as on a schedule. The table is compared as in the benchmark.
"""

import argparse
import shutil
from pathlib import Path

from bench.run import OURS, Measured, machine, progress, run_contender, work_folder
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


def header(first: str) -> str:
    """Return the first two lines of a table."""
    return f"\n| {' | '.join([first, *COLUMNS])} |\n{'|---' * (len(COLUMNS) + 1)}|"


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


def main() -> None:
    """Print what was measured, as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--messages", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--histories", type=int, nargs="+", default=[1, 10], metavar="K")
    parser.add_argument("--increments-of", type=int, default=20_000, help="messages, of which 1 %%")
    parser.add_argument("--memory", default="4g")
    given = parser.parse_args()
    with work_folder() as work:
        print(machine())
        print(header("messages"))
        for messages in given.messages:
            print(row(f"{messages:,}", measure(work, messages, 1, given.memory)), flush=True)
        print(header("history of"))
        for history in given.histories:
            size = given.increments_of
            run = measure(work, size, history, given.memory)
            print(row(f"{size * history:,}", run), flush=True)


if __name__ == "__main__":
    main()
