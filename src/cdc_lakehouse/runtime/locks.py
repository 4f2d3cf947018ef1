"""The locks that keep processes apart: this lakehouse's own, and Derby's of its metastore."""

import fcntl
import os
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from cdc_lakehouse.errors import LakehouseError, cannot_write
from cdc_lakehouse.runtime.paths import lakehouse_dir, make_folder


def hold(name: str, remedy: str) -> IO[str]:
    """Take the lock `name` of this lakehouse; the kernel lets go of it when the process ends.

    Args:
        name: what is held, the lock's file name in LAKEHOUSE_DIR/locks.
        remedy: what a person can do about it, part of the error.

    Raises:
        LakehouseError: another process holds it; the text names the process.
    """
    path = make_folder(lakehouse_dir() / "locks") / name
    try:
        lock = open(path, "a+")  # noqa: SIM115 - held open for the life of the process
    except OSError as error:
        raise cannot_write(path, error) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.truncate(0)
        lock.write(f"process {os.getpid()} ({' '.join(sys.argv)[:200]})")
        lock.flush()
    except BlockingIOError:
        lock.seek(0)
        holder = lock.read().strip() or "another process"
        lock.close()
        raise LakehouseError(f"{lakehouse_dir()} is in use by {holder}. {remedy}") from None
    except OSError as error:
        with suppress(OSError):  # what could not be written is tried again
            lock.close()
        raise cannot_write(path, error) from None
    return lock


def refuse_other_java(lock: Path, patience: float = 20) -> None:
    """Refuse a metastore that a Java has open though this process holds the lock `metastore`.

    It is that of a killed dbt, which ends by itself within `patience` seconds, or of another
    program. Left to Derby, the refusal takes longer and fills the log with stacks.
    """
    deadline = time.monotonic() + patience
    while (holder := _posix_lock_holder(lock)) is not None:
        command = _command_of(holder)
        is_other = command and str(lakehouse_dir()) not in command  # one that is ending has none
        if is_other or time.monotonic() > deadline:
            raise LakehouseError(
                f"{lock.parent} is in use by process {holder or 'unknown'} ({command[:200]}), "
                "which is no dbt, query or show that runs here. Wait for it to end, or stop it."
            )
        time.sleep(0.1)


def _posix_lock_holder(path: Path) -> int | None:
    """Return the process that holds a POSIX lock on a file, as Derby does; None if none does.

    Where the system does not tell the process it is 0.
    """
    try:
        with open(path, "r+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):
                if sys.platform != "linux":
                    return 0
                layout = "hhqqi4x"  # type, whence, start, length, process
                asked = struct.pack(layout, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
                found = struct.unpack(layout, fcntl.fcntl(file, fcntl.F_GETLK, asked))
                return None if found[0] == fcntl.F_UNLCK else found[4]
    except OSError:
        pass  # there is no metastore yet, or opening it tells what is wrong
    return None


def _command_of(process: int) -> str:
    """Return the command line of a process, empty where the system does not tell it."""
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return ""
    return command.decode(errors="replace").replace("\0", " ").strip()
