"""Where the state of a lakehouse lies."""

import os
import re
from pathlib import Path

from cdc_lakehouse.errors import LakehouseError, cannot_write
from cdc_lakehouse.runtime.project import project_folder


def lakehouse_dir() -> Path:
    """Return the folder of all state: LAKEHOUSE_DIR, which is .lakehouse unless it is set.

    A relative name is relative to the project's folder.

    Raises:
        LakehouseError: it is an address, for example of object storage.
    """
    name = os.environ.get("LAKEHOUSE_DIR") or ".lakehouse"
    if re.match(r"[A-Za-z][\w+.-]*:/", name):
        raise LakehouseError(
            f"LAKEHOUSE_DIR={name} is an address and no folder. Name a folder of this machine, or "
            "of a file system that all machines mount; a lakehouse cannot lie in object storage."
        )
    return Path(os.path.abspath(project_folder() / name))


def warehouse_path(schema: str, table: str) -> Path:
    """Return where the Delta table `schema.table` lives; Spark writes names in small letters."""
    return lakehouse_dir() / "warehouse" / f"{schema}.db".lower() / table.lower()


def make_folder(path: Path) -> Path:
    """Make a folder of LAKEHOUSE_DIR, unless it is there, and return it.

    Raises:
        LakehouseError: it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from None
    return path
