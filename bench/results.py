"""bench/RESULTS.md: a section for each question, in it a table for each format and size.

Only the programs that measure write it: what one of them measures takes the place of what it
measured before, and of nothing else.
"""

import re
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")
HISTORY = "How long does a history take?"
LIMITS = "How far is that from what Spark takes for less?"
INCREMENTS = "How long does an increment take?"
START = "How long does a run take that finds nothing?"
GROWTH = "How do increments grow with what is stored?"
TABLES = "How do increments grow with the number of tables?"
READING = "How long does reading take?"
QUESTIONS = (HISTORY, LIMITS, INCREMENTS, START, GROWTH, TABLES, READING)
ABOUT = """# Results

The programs of this folder write this file; what they do and what the columns mean is in
[README.md](README.md). A figure is the median of the runs of one program, with the least and the
greatest in brackets. Two tables may be of two hours of a shared machine: compare the figures of
one.
"""

# The text of each part, by the question and the name of the part.
Parts = Mapping[tuple[str, str], str]


def spread(values: Iterable[float], digits: int = 1) -> str:
    """Return the median of some seconds, with the least and the greatest if they differ."""
    values = sorted(values)
    if not values:
        return ""
    least, middle, greatest = (
        f"{value:.{digits}f}" for value in (values[0], statistics.median(values), values[-1])
    )
    return middle if least == greatest else f"{middle} ({least} to {greatest})"


def times(step: Callable[[], object], repeats: int) -> list[float]:
    """Return the seconds that a step takes, each time."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - began)
    return seconds


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown has it."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def measured(text: str, how: str) -> str:
    """Return a table with a line on how and when it was measured."""
    return f"{text}\n\n{datetime.now(UTC):%d %B %Y}. {how}\n"


def read(text: str) -> dict[tuple[str, str], str]:
    """Return the parts of RESULTS.md."""
    parts = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        question, _, content = section.partition("\n")
        for part in re.split(r"^### ", content, flags=re.MULTILINE)[1:]:
            name, _, said = part.partition("\n")
            parts[question, name] = said.strip() + "\n"
    return parts


def written(parts: Parts) -> str:
    """Return the text of RESULTS.md with some parts."""
    text = ABOUT
    for question in QUESTIONS:
        names = [name for asked, name in parts if asked == question]
        text += f"\n## {question}\n" if names else ""
        text += "".join(f"\n### {name}\n\n{parts[question, name]}" for name in names)
    return text


def show(parts: Parts, is_written: bool) -> None:
    """Print what was measured, and put it in its places in RESULTS.md if that is asked."""
    print(written(parts).removeprefix(ABOUT))
    if is_written:
        known = read(RESULTS.read_text()) if RESULTS.exists() else {}
        RESULTS.write_text(written({**known, **parts}))
