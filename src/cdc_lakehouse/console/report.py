"""What a run tells the person at the keyboard: plain text, and tables of it."""

import re
import shutil
import textwrap
import unicodedata
from collections import Counter
from dataclasses import dataclass, field

from cdc_lakehouse.errors import short_message
from cdc_lakehouse.ingest.files import UNFIT_NAME, Refused, is_parquet
from cdc_lakehouse.operate.replay import Replay
from cdc_lakehouse.routes import UNROUTED


@dataclass
class IngestReport:
    """What a run landed, by topic and in total, and what it could not land."""

    found: int = 0
    files: int = 0
    bytes: int = 0  # of the values
    seconds: float = 0
    messages: Counter[str] = field(default_factory=Counter)
    formats: dict[str, str] = field(default_factory=dict)
    rerouted: Counter[tuple[str, str]] = field(default_factory=Counter)  # by topic and format
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the summary that a person reads."""
        lines = [reroute_text(self.rerouted)] if self.rerouted else []
        if not self.files:
            lines.append(
                f"Nothing to land: {self.found:,} files found, none of them new and sound."
            )
        else:
            lines += [
                _counts({(t, self.formats[t]): n for t, n in self.messages.items()}),
                f"{len(self.messages):,} topics, {sum(self.messages.values()):,} messages, "
                f"{self.bytes:,} bytes, {self.files:,} files, {self.seconds:.1f} s",
            ]
        unrouted = sorted(t for t, name in self.formats.items() if name == UNROUTED)
        if unrouted:
            lines.append(
                f"{unrouted_text(unrouted)} The topic of a line file is its folder's name."
            )
        lines += self.notes
        if self.problems:
            lines += [f"Not landed ({len(self.problems):,}):", *self.problems]
        return "\n".join(lines)


@dataclass
class KafkaReport:
    """What a run landed of each partition of the topics that it read, and what it found out."""

    topics: int = 0  # that were read
    seconds: float = 0
    # topic, partition, format, messages, first and last offset
    landed: list[tuple[str, int, str, int, int, int]] = field(default_factory=list)
    rerouted: Counter[tuple[str, str]] = field(default_factory=Counter)  # by topic and format
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the summary that a person reads."""
        lines = [reroute_text(self.rerouted)] if self.rerouted else []
        messages = sum(row[3] for row in self.landed)
        if messages:
            header = ["topic", "partition", "format", "messages", "first offset", "last offset"]
            cells = [
                [t, str(p), f, *(f"{n:,}" for n in numbers)] for t, p, f, *numbers in self.landed
            ]
            lines.append(text_table(header, cells))
        else:
            lines.append(
                f"Nothing to land: no message is new in the {self.topics:,} topics that were read."
            )
        topics = len({row[0] for row in self.landed})
        lines.append(f"{topics:,} topics, {messages:,} messages, {self.seconds:.1f} s")
        unrouted = sorted({row[0] for row in self.landed if row[2] == UNROUTED})
        if unrouted:
            lines.append(unrouted_text(unrouted))
        return "\n".join([*lines, *self.notes])


def unrouted_text(topics: list[str]) -> str:
    """Return what a person reads about topics that landed without a route."""
    return (
        f"Unrouted: {', '.join(topics)}. Add a line each to seeds/topics.csv, then run "
        "`lakehouse reroute` and `dbt build`."
    )


def reroute_text(rerouted: Counter[tuple[str, str]]) -> str:
    """Return what a person reads about rerouted messages."""
    if not rerouted:
        return "Nothing to reroute: no unrouted message has a topic with a route."
    said = f"{rerouted.total():,} messages rerouted. Run `dbt build` next: it settles them."
    return f"{_counts(rerouted)}\n{said}"


def replay_text(replay: Replay) -> str:
    """Return what a person reads about replayed messages."""
    lines = []
    if replay.replayed:
        rows = [[*names, f"{count:,}"] for names, count in sorted(replay.replayed.items())]
        lines += [
            text_table(["topic", "outcome", "format", "messages"], rows),
            f"{replay.replayed.total():,} messages replayed. `dbt build` settles them next, with "
            "what seeds/topics.csv says now.",
        ]
    unrouted = sorted({topic for topic, _, name in replay.replayed if name == UNROUTED})
    if unrouted:
        lines.append(f"Without a line in seeds/topics.csv, so unrouted now: {', '.join(unrouted)}.")
    if replay.in_line:
        lines.append(f"{replay.in_line:,} messages are in line already: `dbt build` settles them.")
    if replay.gone:
        lines.append(f"{replay.gone:,} messages cannot be replayed: bronze no longer holds them.")
    return "\n".join(lines) or "Nothing to replay: no message matches."


def problem(path: str, error: Exception) -> str:
    """Return the sentence that says why the file at `path` was not landed, and what to do."""
    shown = ascii(path) if UNFIT_NAME.search(path) else path
    if isinstance(error, Refused):
        return f"{shown} {error}"
    if isinstance(error, EOFError):
        return f"{shown} is a truncated gzip file. Deliver it again, whole."
    if isinstance(error, OSError) and error.strerror:
        return f"{shown} cannot be landed: {error.strerror}. Remove the cause and run again."
    kind = "Parquet" if is_parquet(path) else "gzip"
    reason = (short_message(error).splitlines() or ["no reason given"])[0].strip(" .")
    return f"{shown} is not a sound {kind} file: {reason}. Deliver it again, whole."


def text_table(header: list[str], cells: list[list[str | None]], limit: int = 60) -> str:
    """Return a table of text; columns beyond the terminal's width (120 in a pipe) go on below.

    Args:
        limit: the width at which a cell is cut.
    """
    columns = [_column(name, values, limit) for name, *values in zip(header, *cells, strict=True)]
    room = shutil.get_terminal_size((120, 24)).columns
    gap = " " if sum(_width(c[0]) + 2 for c in columns) - 2 > room else "  "
    blocks: list[list[list[str]]] = [[]]
    for column in columns:
        if blocks[-1] and sum(_width(c[0]) + len(gap) for c in [*blocks[-1], column]) > room + len(
            gap
        ):
            blocks.append([columns[0]])  # most often the key
        blocks[-1].append(column)
    return "\n\n".join(_joined(block, gap) for block in blocks)


def _joined(columns: list[list[str]], gap: str) -> str:
    tallest = max(map(len, columns))
    columns = [[" " * _width(c[0])] * (tallest - len(c)) + c for c in columns]
    return "\n".join(gap.join(line).rstrip() for line in zip(*columns, strict=True))


def _column(name: str, values: list[str | None], limit: int) -> list[str]:
    # Control characters would move the cursor, or worse.
    texts = ["NULL" if v is None else re.sub(r"[\x00-\x1f\x7f-\x9f]", "·", v) for v in values]
    texts = [text if len(text) <= limit else text[: limit - 1] + "…" for text in texts]
    width = max(map(_width, texts), default=0)
    # A long name of a narrow column is broken after an underscore.
    words = textwrap.wrap(name.replace("_", "_ "), max(8, width), break_long_words=False)
    heads = [line.replace("_ ", "_") for line in words]
    width = max(width, *map(_width, heads))
    numbers = all(re.fullmatch(r"NULL|-?[\d.,]+(E-?\d+)?", text) for text in texts)
    lines = [*heads, "-" * width, *texts]
    blanks = [" " * (width - _width(line)) for line in lines]
    return [b + t if numbers else t + b for b, t in zip(blanks, lines, strict=True)]


def _width(text: str) -> int:
    return len(text) + sum(unicodedata.east_asian_width(c) in "WF" for c in text)


def _counts(messages: dict[tuple[str, str], int]) -> str:
    rows = [[topic, name, f"{count:,}"] for (topic, name), count in sorted(messages.items())]
    return text_table(["topic", "format", "messages"], rows)
