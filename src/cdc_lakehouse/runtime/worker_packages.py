"""The Python packages that functions of udfs/ import, packed for workers that lack them.

Spark sends the archive to each executor, which then needs nothing but the same version of Python.
"""

import sys
import tarfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.jars import FOLDER

NEEDED = ("fastavro", "jiter", "protobuf", "pyarrow")
ARCHIVE = FOLDER.with_name("worker_packages.tar.gz")
# The packages in the archive, a line each: name==version.
LIST = FOLDER.with_name("worker_packages.txt")
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
UNPACKED = "worker_packages"


def pack(further: Iterable[str] = ()) -> list[str]:
    """Pack what functions of cdc_lakehouse import, and `further` packages; return what is packed.

    Raises:
        LakehouseError: one of them is not installed.
    """
    packed = {_as_text(found): found for found in _with_what_they_need([*NEEDED, *further])}
    LIST.unlink(missing_ok=True)
    part = ARCHIVE.with_name(f"{ARCHIVE.name}.part")
    # The best compression takes ten times as long, for a tenth less.
    with tarfile.open(part, "w:gz", compresslevel=1) as archive:
        for found in packed.values():
            for file in found.files or ():
                # Scripts lie outside, and compiled modules name the paths of this machine.
                if ".." not in file.parts and "__pycache__" not in file.parts:
                    archive.add(str(found.locate_file(file)), str(file))
    part.rename(ARCHIVE)
    names = sorted(packed)
    LIST.write_text("".join(f"{name}\n" for name in names))
    return names


def settings_of_archive() -> dict[str, str]:
    """Return the Spark settings that send the archive; none if none was packed.

    Raises:
        LakehouseError: it has other versions than those that are installed.
    """
    if not LIST.exists():
        return {}
    packed = LIST.read_text().split()
    if other := [text for text in packed if _installed(text.partition("==")[0]) != text]:
        raise LakehouseError(
            f"{ARCHIVE} has {', '.join(other)} for the workers, and that is not what is installed "
            "here. Run `lakehouse setup --cluster` again, or delete the archive and its list."
        )
    return {
        "spark.archives": f"{ARCHIVE.as_uri()}#{UNPACKED}",
        "spark.executorEnv.PYTHONPATH": UNPACKED,
    }


def python_of_workers() -> str:
    """Return the Python that workers run: that of this path, or any that is sent the packages."""
    return PYTHON if LIST.exists() else sys.executable


def _with_what_they_need(names: list[str]) -> Iterator[Distribution]:
    waiting, seen = list(names), set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            raise LakehouseError(
                f"{name} is not installed here. Install it, or correct the name."
            ) from None
        yield found
        needed = map(Requirement, found.requires or ())
        waiting += [each.name for each in needed if not each.marker or each.marker.evaluate()]


def _installed(name: str) -> str:
    try:
        return _as_text(distribution(name))
    except PackageNotFoundError:
        return ""


def _as_text(found: Distribution) -> str:
    return f"{found.metadata['Name']}=={found.version}"
