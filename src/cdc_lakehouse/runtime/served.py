"""Use the Spark of the `lakehouse serve` that has this lakehouse open, instead of a second one.

The process that serves writes `served.json`: the port where it accepts other processes of this
machine, and a key that only its user can read. Each connection may open a py4j gateway into its
Java and may hold the write lock of silver and gold; both last as long as the connection.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, answer_challenge, deliver_challenge
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime import kept
from cdc_lakehouse.runtime.driver import end_java
from cdc_lakehouse.runtime.jvm import leave_errors_to_callers
from cdc_lakehouse.runtime.paths import storage_scheme, work_dir
from cdc_lakehouse.runtime.project import project_folder
from cdc_lakehouse.runtime.shared_metastore import is_shared
from cdc_lakehouse.runtime.shown_command import shown_command

ANSWER_SECONDS = 10  # that another program is given to say something
ENDED = "`lakehouse serve`, whose Spark this used, has ended. Start it, or run again without it"


class Served:
    """A connection to the process that serves this lakehouse."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._holds_lock = connection, False

    @cached_property
    def spark(self) -> SparkSession:
        """The root session of that process."""
        gateway = ask(self._connection, {"gateway": True})
        return _session_through(gateway["port"], gateway["secret"])

    def acquire_write_lock(self) -> None:
        """Wait for the write lock of silver and gold.

        Raises:
            LakehouseError: the process that serves has ended.
        """
        if self._holds_lock:
            return
        answer = ask(self._connection, {"write_lock": True})
        while "waits_for" in answer:
            print(f"lakehouse: waits for {answer['waits_for']}", file=sys.stderr, flush=True)
            answer = ask(self._connection)
        self._holds_lock = True

    def release_write_lock(self) -> None:
        """Release the write lock; it is gone, too, if the process that serves has ended."""
        if self._holds_lock:
            self._holds_lock = False
            with suppress(LakehouseError):
                ask(self._connection, {"write_lock": False})

    def close(self) -> None:
        """Close the connection, with its gateway and its lock."""
        self._connection.close()


def ask(connection: Connection, question: dict[str, Any] | None = None) -> dict[str, Any]:
    """Send a question, if there is one, and return the next answer.

    Raises:
        LakehouseError: the other process refuses it, or has ended.
    """
    try:
        if question is not None:
            connection.send_bytes(json.dumps(question).encode())
        answer: dict[str, Any] = json.loads(connection.recv_bytes())
    except (OSError, EOFError):
        raise LakehouseError(f"{ENDED}.") from None
    if "refused" in answer:
        raise LakehouseError(answer["refused"])
    return answer


def served_file() -> Path:
    """Return the file in which the process that serves says where it can be joined.

    Where a lakehouse is shared each machine may have one.
    """
    own = storage_scheme() or not is_shared()
    return work_dir() / ("served.json" if own else f"served-{socket.gethostname()}.json")


def join_or_keep(overrides: Mapping[str, str] | None = None) -> Served | None:
    """Return what `join_served` does, of a process that is started for it where one is to be kept.

    Args:
        overrides: settings of the profile for a new Spark; None where any will do.

    Raises:
        LakehouseError: as of `join_served`, or LAKEHOUSE_KEEP_WARM is no time.
    """
    if served := join_served(overrides):
        return served
    idle = kept.idle_seconds()
    return join_served(overrides) if idle and kept.start(idle, overrides) else None


def join_served(overrides: Mapping[str, str] | None = None) -> Served | None:
    """Return a connection to the process that serves this lakehouse; None if none does.

    One that is kept for a terminal ends if this process has other surroundings.

    Raises:
        LakehouseError: it serves another project, or refuses for another reason.
    """
    known = _known(served_file())
    if of_kept := known.get("kept"):
        wanted = kept.surroundings(overrides)
        if kept.is_off() or any(of_kept[name] != wanted[name] for name in wanted):
            end_kept()
            return None
    connection = _connect(known)
    if connection is None:
        return None
    # What follows the first word may be a secret.
    command, project = shown_command(1), str(project_folder())
    asked = {"process": os.getpid(), "command": command, "project": project}
    try:
        ask(connection, asked)
    except BaseException as error:
        connection.close()
        if of_kept and isinstance(error, LakehouseError):
            return None  # it is ending
        raise
    return Served(connection)


def is_kept() -> bool:
    """Tell whether a Spark is kept for a terminal."""
    of_kept = _known(served_file()).get("kept")
    return of_kept is not None and kept.is_there(of_kept)


def end_kept() -> bool:
    """Let a Spark end that is kept for a terminal; tell whether there was one, and it has ended.

    One that another command uses goes on. A command that has just ended is given the time in which
    that is noticed.
    """
    deadline = time.monotonic() + kept.NOTICED_WITHIN
    while True:
        known = _known(served_file())
        connection = _connect(known) if known.get("kept") else None
        if connection is None:
            return False
        with connection:
            try:
                ends = ask(connection, {"end": True})["ends"]
            except LakehouseError:
                ends = True  # it is ending
        if ends:
            kept.wait_for_end(known["kept"])
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)


def _known(path: Path) -> dict[str, Any]:
    """Return what the process that serves says of itself; nothing if there is none."""
    try:
        known: dict[str, Any] = json.loads(path.read_text())
        return known
    except PermissionError:
        raise LakehouseError(
            f"{path} belongs to another user, who serves this lakehouse. Ask over Thrift."
        ) from None
    except (OSError, ValueError):
        return {}


def _connect(known: Mapping[str, Any]) -> Connection | None:
    try:
        connection = Client(("127.0.0.1", known["port"]))
    except (OSError, KeyError):
        return None  # a process that was killed has left the file
    if authenticate(connection, bytes.fromhex(known["key"]), is_server=False):
        return connection
    return None  # another program has the port now


def authenticate(connection: Connection, key: bytes, is_server: bool) -> bool:
    """Tell whether the other process has the key, too; if not, close the connection."""
    try:
        if is_server:
            deliver_challenge(connection, key)
            answer_challenge(connection, key)
        elif connection.poll(ANSWER_SECONDS):
            answer_challenge(connection, key)
            deliver_challenge(connection, key)
        else:
            raise EOFError
        return True
    except (OSError, EOFError, AuthenticationError):
        connection.close()
        return False


def _session_through(port: int, secret: str) -> SparkSession:
    """Return the root session of the Java behind a gateway."""
    names = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    os.environ.update(names)
    end_java()
    try:
        gateway = launch_gateway()
    finally:
        for name in names:
            del os.environ[name]
    root = SparkSession._get_j_spark_session_class(gateway.jvm).getDefaultSession().get()
    java_context = gateway.jvm.JavaSparkContext.fromSparkContext(root.sparkContext())
    on_interrupt = signal.getsignal(signal.SIGINT)
    conf = SparkConf(_jconf=java_context.getConf())
    context = SparkContext(conf=conf, gateway=gateway, jsc=java_context)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, on_interrupt)  # PySpark's would cancel the jobs of all
    # As in `open_session`.
    leave_errors_to_callers(context)
    return SparkSession(context, root)
