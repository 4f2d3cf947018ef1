"""Let signals ask this process to end after its current commits.

A process that stays up sets `REQUESTED` on a signal; work of several commits looks at it between
two of them.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

REQUESTED = threading.Event()


@contextmanager
def requested_by_signals(say: Callable[[str], None]) -> Iterator[None]:
    """Let SIGTERM and SIGINT request the end; a second one does not wait for the commit at work.

    Args:
        say: tells the person who waits; it is given the name of the signal.
    """

    def stop(number: int, _: object) -> None:
        if REQUESTED.is_set():
            raise KeyboardInterrupt
        REQUESTED.set()
        say(signal.Signals(number).name)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        REQUESTED.clear()
