"""Keep spark.log, the standard error of Spark's Java, short in a process that stays up."""

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 16 << 20
KEPT_BYTES = 1 << 20  # of the last lines, once it has more than the most
SECONDS = 60  # from one look to the next

_watched: set[Path] = set()


def keep_short(path: Path) -> None:
    """Let a log be shortened now and while this process lives; Java goes on writing at its end."""
    if path not in _watched:
        _watched.add(path)
        threading.Thread(target=_watch, args=(path,), name="spark.log", daemon=True).start()


def _watch(path: Path) -> None:
    while True:
        with suppress(OSError):  # a log that is away, or on a full disk, is no reason to stop
            shorten(path)
        time.sleep(SECONDS)


def shorten(path: Path) -> None:
    """Leave the last lines of a log that has become long; what other processes append stays."""
    with _alone(path) as log:
        if os.fstat(log.fileno()).st_size <= MOST_BYTES:
            return
        log.seek(-KEPT_BYTES, os.SEEK_END)
        log.readline()  # the rest of a line
        last = log.read()
        log.truncate(0)
        log.write(last)


def empty(path: Path) -> None:
    """Leave nothing of a log."""
    with _alone(path) as log:
        log.truncate(0)


@contextmanager
def _alone(path: Path) -> Iterator[BinaryIO]:
    """Open a log to read and append; of several processes one after the other shortens it."""
    with os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND), "r+b") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        yield log
