"""Which files were delivered, and how much of them is new, without Spark."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.delta.log import committed_at
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.ingest.files import LINES, PARQUET, UNKNOWN, is_parquet
from cdc_lakehouse.runtime.paths import work_dir

COMPRESSION = 8  # times that the text of messages is longer than it is in a table


def find_files(root: str, refuse: Callable[[str, Exception], None]) -> Iterator[str]:
    """Yield the files below `root` in the order of their paths; `refuse` what is no such file."""
    own = ("warehouse", "tmp", "metastore_db", "locks", "leases", "removals", "timings")
    own = {str(work_dir() / name) for name in own}
    found, walk = [root], ()
    if os.path.isdir(root):
        found, walk = [], os.walk(root, onerror=lambda error: refuse(error.filename, error))
    for folder, inner, names in walk:
        inner[:] = [n for n in inner if n[0] not in "._" and os.path.join(folder, n) not in own]
        found += [os.path.join(folder, name) for name in names]
    for path in sorted(found):
        name = os.path.basename(path).lower()
        if name[0] in "._" or name.endswith(".crc"):
            continue
        if name.endswith((PARQUET, *LINES)):
            yield path
        else:
            refuse(path, UNKNOWN)


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
                is_compressed = is_parquet(name) or name.lower().endswith(".gz")
                size += status.st_size // (1 if is_compressed else COMPRESSION)
    return size
