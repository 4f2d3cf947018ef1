"""The Java libraries beside pyspark's own: fetched once at set-up, never resolved again."""

import site
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import pyspark

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.java import find_java, java_locale

HERE = Path(__file__).parent
NEEDED = HERE / "jars.xml"
# The folder of this package's environment; `pip install --user` installs into another one.
IS_OF_USER = HERE.is_relative_to(site.getusersitepackages())
FOLDER = Path(site.getuserbase() if IS_OF_USER else sys.prefix, "share", "cdc_lakehouse", "jars")
# Schemes of object storage, and what a set-up for each fetches, if it is known here: into a folder
# of its own, whose jars are used for addresses of the scheme alone.
SCHEMES = {"s3a": HERE / "jars_s3a.xml", "abfss": None, "gs": None}
# Some mirrors lack the revision that belongs to Spark; without delegation tokens either will do.
TOKEN_PROVIDERS = ("4.2.0", "4.0.0")


def fetch_jars() -> list[Path]:
    """Fetch what jars.xml names into the environment's own folder; a second call finds it there.

    Raises:
        LakehouseError: no usable Java, or the repository could not be reached.
    """
    delta = f"-Ddelta={version('delta-spark')}"
    for revision in TOKEN_PROVIDERS:
        reason = retrieve(NEEDED, FOLDER, delta, f"-Dtoken.provider={revision}")
        if not reason:
            (FOLDER / NEEDED.name).write_text(_needed())
            return installed_jars()
    raise LakehouseError(f"The jars could not be fetched:\n{reason}")


def fetch_storage_jars(scheme: str) -> list[Path]:
    """Fetch what object storage of a scheme needs; a second call finds it there.

    Raises:
        LakehouseError: no usable Java, or the repository could not be reached.
    """
    needed = SCHEMES[scheme]
    if needed and (reason := retrieve(needed, FOLDER / scheme)):
        raise LakehouseError(f"The jars for {scheme}:// could not be fetched:\n{reason}")
    return _jars_of(scheme)


def retrieve(ivy_file: Path, folder: Path, *properties: str) -> str:
    """Let Ivy fill `folder` with the files of `ivy_file`, or leave it alone where one is missing.

    Args:
        properties: for Java, `-Dname=value`; the file may use them as `${name}`.

    Returns:
        Why it could not be done; an empty text where it was.

    Raises:
        LakehouseError: no usable Java.
    """
    java = find_java()
    ivy = next(Path(pyspark.__file__).parent.glob("jars/ivy-*.jar"))
    with tempfile.TemporaryDirectory() as cache, java_locale():
        done = subprocess.run(
            [
                *(java, *properties, "-jar", str(ivy), "-cache", cache),
                *("-settings", HERE / "jars_settings.xml", "-ivy", ivy_file),
                *("-confs", "default", "-types", "jar", "bundle"),
                *("-sync", "-retrieve", folder / "[artifact]-[revision].[ext]"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode == 0 and list(folder.glob("*.*")):
        return ""
    reason = [line for line in done.stdout.splitlines() if "::" in line or "ERROR" in line]
    return "\n".join(reason[-12:]) or done.stderr[-1000:] or "Ivy gave no reason."


def installed_jars(scheme: str = "") -> list[Path]:
    """Return the fetched jars.

    Args:
        scheme: of the object storage whose jars are wanted, too.

    Raises:
        LakehouseError: they have not been fetched yet, or for another version of this package.
    """
    jars, fetched = sorted(FOLDER.glob("*.jar")), FOLDER / NEEDED.name
    if fetched.exists() and fetched.read_text() != _needed():
        raise LakehouseError(
            f"{FOLDER} holds the jars of another version of cdc_lakehouse or of delta-spark. "
            "Run `lakehouse setup`."
        )
    if not jars:
        raise LakehouseError(f"{FOLDER} holds no jars. Run `lakehouse setup`.")
    return jars + (_jars_of(scheme) if scheme else [])


def _needed() -> str:
    """Return jars.xml with the version of delta-spark that is installed."""
    return NEEDED.read_text().replace("${delta}", version("delta-spark"))


def _jars_of(scheme: str) -> list[Path]:
    jars = sorted((FOLDER / scheme).glob("*.jar"))
    if not jars:
        remedy = "Put Hadoop's file system for it, with what that needs, there."
        if SCHEMES[scheme]:
            remedy = f"Run `lakehouse setup --storage {scheme}`."
        raise LakehouseError(f"{FOLDER / scheme} holds no jars for {scheme}:// addresses. {remedy}")
    return jars
