"""Show how far a command is: a line that is rewritten on a terminal, else a line now and then.

It writes to standard error, uses counts that the work keeps anyway, and cannot fail a run.
"""

import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TextIO

from pyspark.sql import SparkSession

from cdc_lakehouse.runtime.jvm import java_session, jvm_of
from cdc_lakehouse.runtime.session import gone_java

TERMINAL_SECONDS = 0.5  # between two looks at the work
PLAIN_SECONDS = 10.0  # between two lines where there is no terminal
ERASE = "\r\x1b[K"  # the line of the terminal
MEGABYTE = 1_000_000

# One thread writes to the terminal at a time: it removes the line before another text is printed.
_writing = threading.Lock()


def say(text: str) -> None:
    """Tell a person who waits what has been done so far."""
    with _writing:
        erase = ERASE if _is_terminal(sys.stderr) else ""
        print(f"{erase}lakehouse: {text}", file=sys.stderr, flush=True)


def print_beside(text: str) -> None:
    """Print a line on standard output while `showing` shows the work on standard error."""
    with _writing:
        if _is_terminal(sys.stderr):
            sys.stderr.write(ERASE)
            sys.stderr.flush()
        print(text, flush=True)


@contextmanager
def showing(
    what: str,
    total: int | None = None,
    unit: str = "",
    look: Callable[[], int] | None = None,
) -> Iterator[None]:
    """Show how far the work is that is done inside; what is short shows nothing.

    Args:
        what: is at work, for example `reads files`.
        total: how much there is to do, if that is known.
        unit: what is counted: bytes, messages, tables.
        look: returns how much is done; another thread calls it. None if nothing is counted.
    """
    done = threading.Event()
    work = _Work(what, total, unit, look)
    thread = threading.Thread(target=work.show, args=(done, sys.stderr), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(1)  # and no longer: Java may not answer any more


def _is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


@dataclass
class _Work:
    what: str
    total: int | None
    unit: str
    look: Callable[[], int] | None
    began: float = field(default_factory=time.monotonic)
    count: int = 0

    def show(self, done: threading.Event, stream: TextIO) -> None:
        """Write to `stream` how far the work is, until it is done."""
        # Whatever this fails with, the work is more than what is shown of it.
        with suppress(Exception):
            is_terminal = _is_terminal(stream)
            while not done.wait(TERMINAL_SECONDS if is_terminal else PLAIN_SECONDS):
                text = self.text(time.monotonic() - self.began)
                if is_terminal:
                    room = shutil.get_terminal_size().columns - 1
                    text = f"{ERASE}{text[:room]}"
                with _writing:
                    if not done.is_set():
                        stream.write(text if is_terminal else f"{text}\n")
                        stream.flush()
            if is_terminal:
                stream.write(ERASE)
                stream.flush()

    def text(self, seconds: float) -> str:
        """Return the line after so many seconds of work."""
        if self.look is None:
            return f"lakehouse: {self.what}, for {_duration(seconds)}"
        # It never falls, and is not more than all.
        self.count = max(self.count, self.look())
        if self.total:
            self.count = min(self.count, self.total)
        shown, unit = self._counted()
        rate = self.count / seconds
        words = [f"{self.what}: {shown} {unit}"]
        if unit == "MB":
            words.append(f"{rate / MEGABYTE:,.1f} MB/s")
        elif rate >= 1:
            words.append(f"{rate:,.0f} {self.unit}/s")
        if self.total and self.count:
            words.append(f"{_duration((self.total - self.count) / rate)} left")
        return f"lakehouse: {', '.join(words)}"

    def _counted(self) -> tuple[str, str]:
        counts = [self.count, *([self.total] if self.total else [])]
        if self.unit == "bytes":
            return " of ".join(f"{count / MEGABYTE:,.1f}" for count in counts), "MB"
        return " of ".join(f"{count:,}" for count in counts), self.unit


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def rows_read(spark: SparkSession) -> Callable[[], int]:
    """Return what tells how many rows the stage that is at work now has read.

    Spark's executors say it every ten seconds, and when a task has ended.
    """

    def look() -> int:
        if gone_java():
            return 0
        store = java_session(spark).sparkContext().statusStore()
        writer = jvm_of(spark).org.apache.spark.status.api.v1.JacksonMessageWriter().mapper()
        stages = json.loads(writer.writeValueAsString(store.activeStages()))
        return max((stage["inputRecords"] for stage in stages), default=0)

    return look
