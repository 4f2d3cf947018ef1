"""Where the state of a lakehouse lies."""

import hashlib
import os
import re
from functools import partial
from pathlib import Path

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.driver import hadoop
from cdc_lakehouse.runtime.jars import SCHEMES
from cdc_lakehouse.runtime.project import project_folder
from cdc_lakehouse.storage.files import Location
from cdc_lakehouse.storage.objects import ObjectPath

ADDRESS = re.compile(rf"({'|'.join(SCHEMES)})://[^/\s]+(/[^/\s]+)*")


def lakehouse_dir() -> Location:
    """Return where all that belongs to the lakehouse lies: LAKEHOUSE_DIR, or .lakehouse.

    A relative name of a folder is relative to the project's folder.

    Raises:
        LakehouseError: it is an address, but none of object storage.
    """
    if address := _address():
        return located(address)
    return _folder()


def work_dir() -> Path:
    """Return the folder of what processes keep on this machine: logs, what Spark shuffles.

    It is LAKEHOUSE_DIR, unless that is an address. Then it is a folder below .lakehouse of the
    project, which may be deleted when no process is at work.
    """
    if not (address := _address()):
        return _folder()
    name = re.sub(r"\W+", "_", address)
    digest = hashlib.blake2b(address.encode(), digest_size=4).hexdigest()
    return Path(os.path.abspath(project_folder() / ".lakehouse" / f"{name}-{digest}"))


def storage_scheme() -> str:
    """Return the scheme of the object storage that the lakehouse lies in; empty for a folder."""
    return _address().partition("://")[0]


def located(location: str) -> Location:
    """Return what a location of Spark's names: file:/..., or an address of object storage."""
    scheme = location.partition("://")[0]
    if scheme in SCHEMES:
        return ObjectPath(location, partial(hadoop, work_dir(), scheme))
    return Path(location.removeprefix("file:"))


def warehouse_path(schema: str, table: str) -> Location:
    """Return where the Delta table `schema.table` lives; Spark writes names in small letters."""
    return schema_path(schema) / table.lower()


def schema_path(schema: str) -> Location:
    """Return the folder of the tables of a schema."""
    return lakehouse_dir() / "warehouse" / f"{schema}.db".lower()


def _folder() -> Path:
    return Path(os.path.abspath(project_folder() / _given()))


def _given() -> str:
    return os.environ.get("LAKEHOUSE_DIR") or ".lakehouse"


def _address() -> str:
    """Return LAKEHOUSE_DIR if it is an address of object storage, else an empty text."""
    given = _given()
    if not re.match(r"[A-Za-z][\w+.-]*:/", given):
        return ""
    if not ADDRESS.fullmatch(given.rstrip("/")):
        raise LakehouseError(
            f"LAKEHOUSE_DIR={given} is no address that a lakehouse can lie at. Write "
            f"{', '.join(f'{scheme}://BUCKET/NAME' for scheme in SCHEMES)}, or name a folder."
        )
    return given.rstrip("/")
