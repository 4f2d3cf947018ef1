"""The Java libraries beside pyspark's own: fetched once at set-up, never resolved again."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.java import find_java

HERE = Path(__file__).parent
FOLDER = Path(sys.prefix, "share", "cdc_lakehouse", "jars")


def fetch_jars() -> list[Path]:
    """Fetch what jars.xml names into the environment's own folder; a second call finds it there.

    Raises:
        LakehouseError: no usable Java, or the repository could not be reached.
    """
    java = find_java()
    ivy = next(Path(pyspark.__file__).parent.glob("jars/ivy-*.jar"))
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [
                *(java, "-jar", ivy, "-cache", cache),
                *("-settings", HERE / "jars_settings.xml", "-ivy", HERE / "jars.xml"),
                *("-confs", "default", "-types", "jar", "bundle"),
                *("-sync", "-retrieve", FOLDER / "[artifact]-[revision].[ext]"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode or not list(FOLDER.glob("*.jar")):
        reason = [line for line in done.stdout.splitlines() if "::" in line or "ERROR" in line]
        raise LakehouseError("The Delta jars could not be fetched:\n" + "\n".join(reason[-12:]))
    return installed_jars()


def installed_jars() -> list[Path]:
    """Return the fetched jars.

    Raises:
        LakehouseError: they have not been fetched yet.
    """
    jars = sorted(FOLDER.glob("*.jar"))
    if not jars:
        raise LakehouseError(f"{FOLDER} holds no jars. Run `make setup` (or `lakehouse setup`).")
    return jars
