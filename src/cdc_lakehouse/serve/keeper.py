"""The process that keeps a Spark for the next commands of a terminal: see `runtime.kept`."""

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.kept import WORDS, name_of
from cdc_lakehouse.runtime.leases import began
from cdc_lakehouse.runtime.locks import hold_tables
from cdc_lakehouse.runtime.session import gone_spark, open_session
from cdc_lakehouse.runtime.shown_command import show_as
from cdc_lakehouse.runtime.stopping import REQUESTED, requested_by_signals
from cdc_lakehouse.serve.clients import Clients, Functions, WriteLock

TICK = 0.5  # seconds between two looks whether it is time to end
LEAST_MEMORY = 0.05  # of the machine's, below which an idle Spark ends


def keep(asked: dict[str, Any], ready: Callable[[], None]) -> None:
    """Keep a Spark until nobody needs it.

    Args:
        asked: what the command that began it says: `idle` seconds, the `leader` of the session of
            its terminal, the `project`, settings of Spark (`overrides`), and its `surroundings`.
        ready: is called once it can be joined.

    Raises:
        LakehouseError: Spark does not start, or another process has the tables.
    """
    project = Path(asked["project"])
    with ExitStack() as stack:
        remedy = "Another command has it."
        stack.enter_context(hold_tables(remedy, to_write=True))
        spark = open_session(metastore=True, overrides=asked["overrides"])
        stack.callback(spark.stop)
        functions = Functions(spark, project)
        functions.register()
        kept = {**name_of(os.getpid()), **asked["surroundings"]}
        clients = Clients(spark, WriteLock(functions.renew), project, kept)
        stack.callback(clients.close)
        stack.enter_context(requested_by_signals(lambda name: None))
        leader = asked["leader"]  # 0 if it is one of another container
        ready()
        gone = partial(gone_spark, spark)
        while not REQUESTED.wait(TICK) and clients.can_be_found() and not gone():
            idle = 0.0 if clients.count else time.monotonic() - clients.quiet_since
            if idle > asked["idle"] or (leader and not began(leader)):
                return
            if idle and _free_memory() < LEAST_MEMORY:
                return


def _free_memory() -> float:
    """Return the share of the machine's memory that is available; 1 where it is not told."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found = {
            name: int(rest.split()[0]) for name, _, rest in (ln.partition(":") for ln in lines)
        }
        return found["MemAvailable"] / found["MemTotal"]
    except (OSError, KeyError, ValueError, IndexError):
        return 1


def main() -> int:
    """Keep a Spark for the command that has started this process."""
    asked = json.load(sys.stdin)
    show_as(*WORDS.split())

    def ready() -> None:
        print("ready", flush=True)
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), 1)

    try:
        keep(asked, ready)
    except LakehouseError:
        return 1  # the command says why when it starts a Spark of its own
    return 0


if __name__ == "__main__":
    sys.exit(main())
