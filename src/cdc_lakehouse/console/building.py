"""Print what `lakehouse run` shows while dbt builds: a line for each ended node, and warnings.

dbt itself prints twice as much: the start of each node, what it found, blank lines. Its log has all
of that.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cdc_lakehouse.runtime.progress import print_beside, showing

LEVELS = ("info", "warn", "error")
LEFT_OUT = {
    "AdapterRegistered",
    "ConcurrencyLine",
    "DefaultSelector",
    "FinishedRunningStats",
    "Formatting",
    "FoundStats",
    "LogHookEndLine",
    "LogHookStartLine",
    "LogStartLine",
    "MainReportVersion",
}


class Building:
    """A callback of dbt that prints what a person wants to know.

    Attributes:
        ended: how many nodes have ended.
    """

    def __init__(self) -> None:
        self.ended = 0

    def __call__(self, event: Any) -> None:
        """Print an event of dbt, an EventMsg, if it is one for people."""
        name, text = event.info.name, event.info.msg
        if event.info.level not in LEVELS or name in LEFT_OUT or not text.strip():
            return
        self.ended += name.startswith("Log") and name.endswith("Result")
        print_beside(text)

    @contextmanager
    def shown(self) -> Iterator[list[str]]:
        """Show how far dbt is; return the options with which it prints nothing itself."""
        colours = [] if sys.stdout.isatty() else ["--no-use-colors"]
        with showing("builds tables and views", unit="ended", look=lambda: self.ended):
            yield ["--log-level", "none", *colours]
