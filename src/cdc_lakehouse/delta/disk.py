"""Measure the folder of a Delta table on disk, with the files that it no longer needs."""

from cdc_lakehouse.delta.log import LOG
from cdc_lakehouse.storage.files import Location, sizes_below


def files_on_disk(path: Location) -> tuple[int, int]:
    """Return number and bytes of a table's files on disk, without those that VACUUM leaves alone.

    VACUUM leaves the log, checksums, and whatever begins with _.
    """
    sizes = [size for name, size in sizes_below(path) if not _is_left_alone(name)]
    return len(sizes), sum(sizes)


def _is_left_alone(name: str) -> bool:
    *folders, file = name.split("/")
    return LOG in folders or file.startswith((".", "_"))
