"""Write, find and delete files of a lakehouse, in a folder or in object storage."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from cdc_lakehouse.errors import cannot_write
from cdc_lakehouse.storage.objects import ObjectPath

# Where something of a lakehouse lies.
Location = Path | ObjectPath


_Place = TypeVar("_Place", bound=Location)


def make_folder(path: _Place) -> _Place:
    """Make a folder of a lakehouse, unless it is there, and return it.

    Object storage has no folders that need to be made.

    Raises:
        LakehouseError: it cannot be made.
    """
    if isinstance(path, Path):
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(path, error) from None
    return path


def write_whole(path: Location, text: str, mode: int = 0o666) -> None:
    """Write a file of a lakehouse so that nobody ever finds a part of it, and its folder with it.

    Args:
        mode: who may read a file of a folder, as `os.open` takes it.

    Raises:
        LakehouseError: it cannot be written.
    """
    try:
        if isinstance(path, ObjectPath):
            path.write_text(text)
            return
        part = make_folder(path.parent) / f".{path.name}.{os.getpid()}"
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.rename(path)
    except OSError as error:
        raise cannot_write(path, error) from None


def renew(path: Location) -> None:
    """Let a file of a lakehouse be as old as one that is written now.

    Raises:
        OSError: it cannot be written; FileNotFoundError if it is not there any longer.
    """
    if isinstance(path, ObjectPath):
        path.write_text(path.read_text())
    else:
        os.utime(path)


def fitting(folder: Location, pattern: str) -> list[Location]:
    """Return what lies in a folder under names that fit the pattern, sorted."""
    found: list[Location] = [*folder.glob(pattern)]
    return sorted(found, key=str)


def sizes_below(path: Location) -> Iterator[tuple[str, int]]:
    """Yield the names of all files below a folder, as they follow its own, and their bytes."""
    if isinstance(path, ObjectPath):
        for place, status in path.walk():
            yield str(place).removeprefix(f"{path}/"), status.st_size
        return
    for folder, _, names in os.walk(path):
        for name in names:
            found = os.path.join(folder, name)
            with suppress(FileNotFoundError):  # an ingest renames what it writes
                yield os.path.relpath(found, path), os.path.getsize(found)


def remove_tree(path: Location) -> None:
    """Delete a folder of a lakehouse with all that lies in it, if it is there."""
    if isinstance(path, ObjectPath):
        path.remove_tree()
    elif path.exists():
        shutil.rmtree(path)
