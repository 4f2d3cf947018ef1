"""Let other processes of this machine use the Spark of the one that serves, and write in turns."""

import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.package import sources
from cdc_lakehouse.runtime.functions import PACKAGE, register_functions
from cdc_lakehouse.runtime.jvm import java_context, java_of_process
from cdc_lakehouse.runtime.paths import lakehouse_dir
from cdc_lakehouse.runtime.served import authenticate, served_file
from cdc_lakehouse.runtime.stopping import REQUESTED
from cdc_lakehouse.storage.files import write_whole

POLL_SECONDS = 0.2  # between two looks at a client that waits, or at the jobs of one that has gone
QUIET_POLLS = 10  # without a job, after which a statement of a writer that was killed has ended


class WriteLock:
    """Held by the one process or run that writes silver and gold."""

    def __init__(self, on_acquire: Callable[[], None]) -> None:
        """`on_acquire` is called each time, before the lock counts as acquired."""
        self._free, self._holder, self._on_acquire = threading.Condition(), "", on_acquire

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Wait for the lock, and hold it in the block.

        Args:
            name: who holds it, for those that wait.
        """
        while self.try_acquire(name):
            pass
        try:
            yield
        finally:
            self.release()

    def try_acquire(self, name: str) -> str:
        """Acquire the lock, or return after POLL_SECONDS the name of its holder."""
        with self._free:
            if not self._free.wait_for(lambda: not self._holder, POLL_SECONDS):
                return self._holder
            self._holder = name
        try:
            self._on_acquire()
        except BaseException:
            self.release()
            raise
        return ""

    def release(self) -> None:
        """Let the next one acquire it."""
        with self._free:
            self._holder = ""
            self._free.notify()


class Functions:
    """The functions of udfs/ in the session of the process that serves."""

    def __init__(self, spark: SparkSession, project: Path) -> None:
        self._spark, self._project = spark, project
        self._known = self._files()

    def register(self) -> None:
        """Register them."""
        register_functions(self._spark, self._project)

    def renew(self) -> None:
        """Register them again if a file has changed."""
        if (now := self._files()) != self._known:
            self.register()
            self._known = now

    def _files(self) -> dict[Path, int]:
        folders = (folder / PACKAGE for folder in sources(self._project))
        return {p: p.stat().st_mtime_ns for folder in folders for p in folder.glob("*.py")}


class Clients:
    """Accepts the connections that `runtime.served` makes; a thread for each.

    Attributes:
        count: how many there are.
        quiet_since: when there was one last, by the monotonic clock.
    """

    def __init__(
        self,
        spark: SparkSession,
        lock: WriteLock,
        project: Path,
        kept: dict[str, Any] | None = None,
    ) -> None:
        """`kept` is what `runtime.kept` says of a process that it has started."""
        self._spark, self._lock, self._project, self._kept = spark, lock, project, kept
        self.count, self.quiet_since, self._counting = 0, time.monotonic(), threading.Lock()
        self._key = secrets.token_bytes(32)
        self._listener = Listener(("127.0.0.1", 0))
        self._path = served_file()
        known = {"port": self._listener.address[1], "key": self._key.hex(), "kept": kept}
        write_whole(self._path, json.dumps(known), mode=0o600)
        self._file = self._path.stat()
        threading.Thread(target=self._accept, daemon=True).start()

    def can_be_found(self) -> bool:
        """Tell whether the file that names this process is still there."""
        with suppress(OSError):
            return os.path.samestat(self._path.stat(), self._file)
        return False

    def close(self) -> None:
        """Accept no more connections."""
        if self.can_be_found():
            self._path.unlink(missing_ok=True)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: Connection) -> None:
        with connection, suppress(EOFError, OSError):
            if not authenticate(connection, self._key, is_server=True):
                return
            client = json.loads(connection.recv_bytes())
            if "end" in client:
                self._end(connection)
                return
            if self._kept is not None and REQUESTED.is_set():
                return  # it ends
            if client["project"] != str(self._project):
                refusal = (
                    f"{lakehouse_dir()} is served for the project {self._project}, and this is "
                    f"{client['project']}. Run it there, or stop `lakehouse serve`."
                )
                _send(connection, refused=refusal)
                return
            with self._counted():
                _send(connection, accepted=True)
                _Client(self._spark, self._lock, connection, client).answer()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._counting:
            self.count += 1
        try:
            yield
        finally:
            with self._counting:
                self.count -= 1
                self.quiet_since = time.monotonic()

    def _end(self, connection: Connection) -> None:
        """Let a process that was started by another command end, unless somebody uses it."""
        with self._counting:
            ends = self._kept is not None and not self.count
        if ends:
            REQUESTED.set()
        _send(connection, ends=ends)


class _Client:
    """Another process: its py4j gateway and its write lock last as long as its connection."""

    def __init__(
        self, spark: SparkSession, lock: WriteLock, connection: Connection, about: dict[str, Any]
    ) -> None:
        self._context, self._lock, self._connection = spark.sparkContext, lock, connection
        self._name = f"process {about['process']} ({about['command']})"
        self._tag = f"process-{about['process']}-{secrets.token_hex(4)}"
        self._gateway: JavaObject | None = None
        self._holds_lock = False

    def answer(self) -> None:
        """Answer until the process ends, then cancel the jobs that it has begun."""
        try:
            while True:
                asked = json.loads(self._connection.recv_bytes())
                if "gateway" in asked:
                    self._open_gateway()
                elif asked["write_lock"]:
                    self._acquire()
                else:
                    self._release()
                    _send(self._connection, write_lock=False)
        finally:
            if self._gateway is not None:
                self._gateway.shutdown()
                self._cancel_jobs()
            self._release()

    def _open_gateway(self) -> None:
        # Java's threads of the gateway inherit the tag.
        self._context.addJobTag(self._tag)
        jvm = java_of_process()
        assert jvm is not None  # Spark runs
        kind = jvm.org.apache.spark.api.python.Py4JServer
        self._gateway = gateway = kind(java_context(self._context).sc().conf())
        gateway.start()
        port, secret = gateway.getListeningPort(), gateway.secret()
        _send(self._connection, port=port, secret=secret)

    def _cancel_jobs(self) -> None:
        """Cancel what the process has begun; a writer's next job, too, until none follows."""
        tracker, quiet = java_context(self._context).sc().statusTracker(), 0
        while quiet < (QUIET_POLLS if self._holds_lock else 1):
            begun = set(tracker.getJobIdsForTag(self._tag)) & set(tracker.getActiveJobIds())
            quiet = 0 if begun else quiet + 1
            if begun:
                self._context.cancelJobsWithTag(self._tag)
            time.sleep(POLL_SECONDS)

    def _acquire(self) -> None:
        told = ""
        try:
            while holder := self._lock.try_acquire(self._name):
                if holder != told:
                    _send(self._connection, waits_for=holder)
                    told = holder
                if self._connection.poll():  # a client that waits sends nothing: it has ended
                    raise EOFError
        except LakehouseError as error:
            _send(self._connection, refused=str(error))
            return
        self._holds_lock = True
        _send(self._connection, write_lock=True)

    def _release(self) -> None:
        if self._holds_lock:
            self._holds_lock = False
            self._lock.release()


def _send(connection: Connection, **answer: Any) -> None:
    connection.send_bytes(json.dumps(answer).encode())
