"""Say what a command is doing if it takes longer than a person expects."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 5.0  # seconds


@contextmanager
def saying_if_slow(what: str, patience: float = PATIENCE) -> Iterator[None]:
    """Say on standard error what is done inside, once it takes longer than `patience` seconds.

    It is the standard error of the beginning: inside, it may be a file for what Java says.
    """
    shown = os.dup(2)
    timer = threading.Timer(patience, os.write, (shown, f"lakehouse: {what}\n".encode()))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        os.close(shown)
