"""What lies on disk in the folder of a Delta table, whether the table still needs it or not."""

import os
from contextlib import suppress
from pathlib import Path

from cdc_lakehouse.delta.log import LOG


def files_on_disk(path: Path) -> tuple[int, int]:
    """Return number and bytes of a table's files on disk, those aside that VACUUM leaves alone.

    These are its log, checksums, and whatever begins with _.
    """
    sizes = []
    for folder, _, names in os.walk(path):
        for name in names:
            if LOG not in folder and not name.startswith((".", "_")):
                with suppress(FileNotFoundError):  # an ingest renames what it writes
                    sizes.append(os.path.getsize(os.path.join(folder, name)))
    return len(sizes), sum(sizes)
