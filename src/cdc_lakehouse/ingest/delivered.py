"""Find the files that were delivered, and estimate how much is new, without Spark."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.delta.log import committed_at
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.ingest.columns import Refused
from cdc_lakehouse.ingest.files import LANDED, UNKNOWN, is_compressed, is_parquet
from cdc_lakehouse.runtime.paths import work_dir

COMPRESSION = 8  # times that the text of messages is longer than it is in a table
LOOP = Refused("is a link to a folder that it lies in. Remove the link.")
OWN = ("warehouse", "tmp", "metastore_db", "locks", "leases", "removals", "timings")
Refuse = Callable[[str, Exception], None]
Note = Callable[[str], None]


def find_files(root: str, refuse: Refuse, note: Note = lambda text: None) -> Iterator[str]:
    """Yield the files below `root` in the order of their paths; `refuse` what is no such file.

    Links are followed. Each folder is read once, under a path without links if it has one; `note`
    is told of a link to one that is read under another path.
    """
    found = _below(root, refuse, note) if os.path.isdir(root) else [root]
    for path in sorted(found):
        name = os.path.basename(path).lower()
        if name[0] in "._" or name.endswith(".crc"):
            continue
        if name.endswith(LANDED):
            yield path
        elif os.path.islink(path) and not os.path.exists(path):
            refuse(path, Refused(f"is a link to {os.readlink(path)}, which is not there. Mend it."))
        else:
            refuse(path, UNKNOWN)


def _below(root: str, refuse: Refuse, note: Note) -> Iterator[str]:
    own = {os.path.realpath(work_dir() / name) for name in OWN}
    read: set[str] = set()
    # Each folder with the real paths of itself and of those that its path leads through.
    folders: list[tuple[str, tuple[str, ...]]] = [(root, (os.path.realpath(root),))]
    linked: list[tuple[str, tuple[str, ...]]] = []
    while folders or linked:
        folder, through = folders.pop() if folders else linked.pop(0)
        if through[-1] in own:
            continue
        if through[-1] in read:
            note(f"{folder} is read under another path, too: what is in it lands once.")
            continue
        read.add(through[-1])
        try:
            for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
                real = os.path.join(through[-1], entry.name)
                if not _is_folder(entry):
                    yield entry.path
                elif entry.name[0] in "._":
                    continue
                elif not entry.is_symlink():
                    folders.append((entry.path, (*through, real)))
                elif _holds(target := os.path.realpath(entry.path), through):
                    refuse(entry.path, LOOP)
                else:
                    linked.append((entry.path, (*through, target)))
        except OSError as error:
            refuse(error.filename or folder, error)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _holds(folder: str, paths: Iterable[str]) -> bool:
    """Tell whether one of some paths is a folder, or lies in it."""
    return any(f"{path}{os.sep}".startswith(os.path.join(folder, "")) for path in paths)


def find_once(
    roots: Iterable[str], known: Collection[str], refuse: Refuse, note: Note
) -> list[str]:
    """Return the files below some folders, each under one path, as `find_files` finds them.

    Args:
        known: paths that have landed; a file that has landed keeps its path.
    """
    found = {path for root in roots for path in find_files(root, refuse, note)}
    paths = each_once(found, known)
    if len(found) > len(paths):
        note(f"{len(found) - len(paths):,} links lead to files that land under another path.")
    return paths


def each_once(paths: Iterable[str], known: Collection[str]) -> list[str]:
    """Return paths, but each file under one of them: the known one, else one that is no link."""

    @cache
    def real_folder(folder: str) -> str:
        return os.path.realpath(folder)

    def real(path: str) -> str:
        if os.path.islink(path):
            return os.path.realpath(path)
        return os.path.join(real_folder(os.path.dirname(path)), os.path.basename(path))

    chosen: dict[str, str] = {}
    for path in [*sorted(known), *sorted(paths, key=lambda path: (os.path.islink(path), path))]:
        chosen.setdefault(real(path), path)
    return sorted({path if path in known else chosen[real(path)] for path in paths})


def existing(path: str | Path) -> str:
    """Return the absolute path of what is to land.

    Raises:
        LakehouseError: there is no such path.
    """
    root = os.path.abspath(path)
    if not os.path.exists(root):
        raise LakehouseError(f"{root} does not exist. Name a folder or a file to land.")
    return root


def bytes_to_land(path: str | Path) -> int:
    """Estimate how many bytes of bronze the new files below `path` will take, without Spark.

    New is what was written after the last ingest that has landed something.

    Raises:
        LakehouseError: there is no such path.
    """
    root = existing(path)
    last = committed_at(bronze.folder_of(bronze.LANDED_FILES))
    size = 0
    for name in find_files(root, lambda path, error: None):
        with suppress(OSError):
            status = os.stat(name)
            if status.st_mtime > last:
                is_packed = is_parquet(name) or is_compressed(name)
                size += status.st_size // (1 if is_packed else COMPRESSION)
    return size
