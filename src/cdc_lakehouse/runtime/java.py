"""Find a Java that Spark can run on, or say what is missing."""

import locale
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cdc_lakehouse.errors import LakehouseError

MINIMUM_JAVA = 17
REMEDY = (
    f"Install Java {MINIMUM_JAVA} or later (Debian, Ubuntu: apt-get install "
    "openjdk-17-jre-headless) or let JAVA_HOME point to one."
)


def find_java() -> str:
    """Return the path of the `java` that Spark will start: JAVA_HOME's, else the one on PATH.

    Raises:
        LakehouseError: there is none, it does not start, or it is older than Java 17.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    where = f"JAVA_HOME={home}" if home else "PATH"
    if not java or not os.access(java, os.X_OK):
        raise LakehouseError(f"No Java found ({where} has no java). {REMEDY}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    version = re.search(r'version "(?:1\.)?(\d+)', said.stderr)
    if not version:
        raise LakehouseError(f"{java} does not tell its version: {said.stderr.strip()!r}. {REMEDY}")
    if int(version[1]) < MINIMUM_JAVA:
        raise LakehouseError(f"{java} is Java {version[1]}, too old for Spark. {REMEDY}")
    return java


@contextmanager
def java_locale() -> Iterator[None]:
    """Let a Java that starts meanwhile read and write all file names that Python does.

    With LC_ALL=C, as cron has it, Python takes names for UTF-8 and Java for ASCII.
    """
    given = os.environ.get("LC_ALL")
    if sys.getfilesystemencoding() == "utf-8" != locale.getencoding().lower():
        os.environ["LC_ALL"] = "C.UTF-8"
    try:
        yield
    finally:
        if given is not None:
            os.environ["LC_ALL"] = given
        else:
            os.environ.pop("LC_ALL", None)


if __name__ == "__main__":
    try:
        find_java()
    except LakehouseError as error:
        sys.exit(f"make: {error}")
