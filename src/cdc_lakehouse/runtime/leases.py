"""Locks that hold across machines: a holder that stops renewing its file loses the lock.

A process takes a lease by writing a file of its own, then looking at the files of others. If two
processes do so at once, the later one sees the other's file. Ages are differences of times that the
file system has noted, so no clock of a machine matters.
"""

import json
import os
import random
import socket
import sys
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.jvm import java_process
from cdc_lakehouse.runtime.paths import lakehouse_dir
from cdc_lakehouse.runtime.shown_command import shown_command
from cdc_lakehouse.storage.files import renew, write_whole

FOLDER = "leases"
LEASE_SECONDS = 60  # after which a holder that has not renewed its lease has lost it
RENEW_SECONDS = 10
ATTEMPTS = 4  # two that begin at once withdraw both, and wait for different times
# Tells this process from all others.
TOKEN = uuid.uuid4().hex


class Lease:
    """A lease on a name of this lakehouse, renewed by a thread until it is closed."""

    def __init__(self, name: str, remedy: str, is_shared: bool) -> None:
        """Take the lease.

        Args:
            name: what is held.
            remedy: what a person can do about it, part of the error.
            is_shared: whether others may hold a shared lease on the name, too.

        Raises:
            LakehouseError: another process holds it; the text names the process.
        """
        self._name, self._is_shared = name, is_shared
        self._path = lakehouse_dir() / FOLDER / name / f"{uuid.uuid4().hex}.json"
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(random.uniform(0.05, 0.5))
            self._write()
            holder = self._other_holder()
            if not holder:
                break
            self._path.unlink(missing_ok=True)
        else:
            raise LakehouseError(f"{lakehouse_dir()} is in use by {holder}. {remedy}")
        self._renewed_at, self._is_closed = _clock(), threading.Event()
        threading.Thread(target=self._renew, daemon=True).start()

    def __enter__(self) -> "Lease":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the lease."""
        self._is_closed.set()
        self._path.unlink(missing_ok=True)

    def _write(self) -> None:
        holder = f"process {os.getpid()} of {socket.gethostname()} ({shown_command()})"
        about = {
            "token": TOKEN,
            "machine": _machine(),
            "process": os.getpid(),
            "began": began(os.getpid()),
            "holder": holder,
            "is_shared": self._is_shared,
        }
        write_whole(self._path, json.dumps(about))

    def _other_holder(self) -> str:
        """Return the holder of a lease that excludes this one; an empty text if there is none."""
        now = self._path.stat().st_mtime
        for path in self._path.parent.glob("*.json"):
            try:
                written, about = path.stat().st_mtime, json.loads(path.read_text())
            except FileNotFoundError:
                continue  # closed meanwhile
            if path == self._path or self._stands(about):
                continue
            if now - written > LEASE_SECONDS or _has_ended(about):
                path.unlink(missing_ok=True)
                continue
            other: str = about["holder"]
            return other
        return ""

    def _stands(self, about: dict[str, Any]) -> bool:
        """Tell whether another lease may be held at the same time.

        A process that holds a name alone may share it with its own steps, as an erasure does with
        the dbt that it runs.
        """
        if about["token"] == TOKEN:
            return self._is_shared or about["is_shared"]
        return self._is_shared and about["is_shared"]

    def _renew(self) -> None:
        attempt = None
        while not self._is_closed.wait(RENEW_SECONDS):
            if _clock() - self._renewed_at > LEASE_SECONDS:
                self._end_process()
            if attempt is None or not attempt.is_alive():  # storage that hangs answers late
                attempt = threading.Thread(target=self._renew_once, args=(_clock(),), daemon=True)
                attempt.start()

    def _renew_once(self, now: float) -> None:
        try:
            renew(self._path)
            self._renewed_at = now
        except FileNotFoundError:
            if not self._is_closed.is_set():
                self._end_process()
        except OSError:
            pass  # tried again, for as long as the lease lasts

    def _end_process(self) -> None:
        """End at once, as if killed: another process may have begun, and both must not go on."""
        print(
            f"lakehouse: this process did not renew its lock {self._name} for {LEASE_SECONDS} s "
            "and has lost it, so it ends here. The next run completes what was begun.",
            file=sys.stderr,
            flush=True,
        )
        if java := java_process():
            java.kill()
        os._exit(1)


def _clock() -> float:
    """Return seconds that go on while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def _machine() -> str:
    """Return what tells the machine and container, which numbers processes; empty if not known."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    return ""


def _has_ended(about: dict[str, Any]) -> bool:
    """Tell whether the process of a lease was one of this machine, and has ended."""
    is_here = about["machine"] and about["machine"] == _machine()
    return bool(is_here) and began(about["process"]) != about["began"]


def began(process: int) -> str:
    """Return when a process began, in ticks since the machine did; an empty text if there is none.

    A number is given to another process some time after its own has ended.
    """
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return ""
    state, *fields = status.rpartition(")")[2].split()
    return "" if state == "Z" else fields[18]
