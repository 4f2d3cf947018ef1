"""The locks that keep processes apart: this lakehouse's own, and Derby's of its metastore."""

import fcntl
import os
import socket
import struct
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

from cdc_lakehouse.errors import LakehouseError, cannot_write
from cdc_lakehouse.runtime import kept, leases, served, shared_metastore
from cdc_lakehouse.runtime.leases import Lease
from cdc_lakehouse.runtime.paths import lakehouse_dir, storage_scheme, work_dir
from cdc_lakehouse.runtime.shared_metastore import SharedMetastore
from cdc_lakehouse.runtime.shown_command import shown_command
from cdc_lakehouse.storage.files import make_folder

FOLDER = "locks"
# The tables that have names, in the metastore; and those who only read them, where it is shared.
TABLES, READERS = "metastore", "readers"
# Where only one process may commit to a table at a time: the tables of bronze, and all others.
BRONZE, WRITER = "bronze-writer", "writer"

# All can be closed, and are by the end of a `with`.
Lock = IO[str] | Lease | ExitStack


def hold(name: str, remedy: str, is_shared: bool = False) -> Lock:
    """Take the lock `name` of this lakehouse.

    It is a lease where several machines may use the lakehouse. Otherwise it is a lock of the
    kernel, which lets go of it when the process ends.

    Args:
        name: what is held.
        remedy: what a person can do about it, part of the error.
        is_shared: whether others may hold it so, too; a lakehouse that shares no metastore has no
            such locks.

    Raises:
        LakehouseError: another process holds it; the text names the process.
    """
    if _has_leases():
        return Lease(name, remedy, is_shared)
    return _flock(name, remedy)


def _has_leases() -> bool:
    return bool(storage_scheme()) or shared_metastore.is_shared()


def hold_tables(remedy: str, to_write: bool) -> Lock:
    """Take the locks of a process that reads or writes tables by their names.

    With a shared metastore others may do so at the same time: Delta decides about their writes,
    commit by commit. On S3 Delta cannot, so one process writes there at a time.

    Raises:
        LakehouseError: another process uses them, or `hold_tables_alone`.
    """
    if not shared_metastore.is_shared():
        return _hold_from_kept(remedy)
    with ExitStack() as stack:
        stack.enter_context(hold(READERS, remedy, is_shared=True))
        if to_write:
            stack.enter_context(hold(TABLES, remedy, is_shared=True))
        if to_write and has_one_writer():
            stack.enter_context(hold(WRITER, remedy))
        return stack.pop_all()


def hold_to_commit(name: str, remedy: str) -> Lock:
    """Take the lock `name` of work that commits to tables of bronze, and the lock of such commits.

    Raises:
        LakehouseError: another process holds it, or writes bronze where one at a time may.
    """
    with ExitStack() as stack:
        stack.enter_context(hold(name, remedy))
        stack.enter_context(hold_bronze())
        return stack.pop_all()


def hold_bronze() -> Lock:
    """Take the lock of any commit to a table of bronze: on S3 a lease, elsewhere none.

    Raises:
        LakehouseError: another process writes bronze.
    """
    remedy = "On S3 one process at a time writes bronze: run again when that one has ended."
    return hold(BRONZE, remedy) if has_one_writer() else ExitStack()


def has_one_writer() -> bool:
    """Tell whether Delta cannot keep two processes from making the same commit of a table.

    S3 could, but not the Hadoop calls by which Delta 4.4 writes its log.
    """
    return storage_scheme() == "s3a"


def hold_tables_alone(remedy: str, are_read: bool = False) -> Lock:
    """Take the locks of a process beside which nobody may write tables.

    Args:
        are_read: whether others may read them meanwhile, where the metastore is shared.

    Raises:
        LakehouseError: another process uses them.
    """
    if not shared_metastore.is_shared():
        return _hold_from_kept(remedy)
    with ExitStack() as stack:
        stack.enter_context(hold(TABLES, remedy))
        if not are_read:
            stack.enter_context(hold(READERS, remedy))
        return stack.pop_all()


def _hold_from_kept(remedy: str) -> Lock:
    """Take the lock of the tables; a Spark that is kept for a terminal, and idle, ends for it."""
    deadline = time.monotonic() + kept.ENDS_WITHIN
    served.end_kept()
    while True:
        try:
            return hold(TABLES, remedy)
        except LakehouseError as error:
            is_ending = kept.WORDS in str(error) and not served.served_file().exists()
            if not is_ending or time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def hold_to_serve() -> Lock:
    """Take the lock of the one process that serves the tables on this machine.

    Raises:
        LakehouseError: another process serves them.
    """
    with ExitStack() as stack:
        if shared_metastore.is_shared():
            remedy = "One process serves a lakehouse on a machine: join it, or stop it."
            stack.enter_context(hold(f"serve-{socket.gethostname()}", remedy))
            stack.enter_context(hold_tables(remedy, to_write=False))
        return stack.pop_all()


def known_locks() -> list[str]:
    """Return the names of all locks that were ever taken in this lakehouse, sorted."""
    folder = leases.FOLDER if _has_leases() else FOLDER
    return sorted(path.name for path in (lakehouse_dir() / folder).glob("*"))


def begin_sharing(metastore: SharedMetastore) -> None:
    """Let a lakehouse share a metastore from now on.

    Raises:
        LakehouseError: a process uses it that knows of no leases.
    """
    if shared_metastore.shares(metastore):
        return
    remedy = f"It can share {metastore.address} when that has ended."
    with ExitStack() as stack:
        if not storage_scheme():
            for name in sorted({TABLES, *os.listdir(make_folder(work_dir() / FOLDER))}):
                stack.enter_context(_flock(name, remedy))
        shared_metastore.note_shared(metastore)


def _flock(name: str, remedy: str) -> IO[str]:
    path = make_folder(work_dir() / FOLDER) / name
    try:
        lock = open(path, "a+")  # noqa: SIM115 - held open for the life of the process
    except OSError as error:
        raise cannot_write(path, error) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.truncate(0)
        lock.write(f"process {os.getpid()} ({shown_command()})")
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
        is_other = command and str(work_dir()) not in command  # one that is ending has none
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
