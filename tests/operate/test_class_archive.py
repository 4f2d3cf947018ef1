"""Java takes most of its classes from the archive of the set-up, and starts without one, too."""

import os
import subprocess
import sys

import pytest

from cdc_lakehouse.runtime.class_archive import ARCHIVE

pytestmark = pytest.mark.full

START = """
import sys
from cdc_lakehouse.runtime import class_archive
from cdc_lakehouse.runtime.session import open_session
from cdc_lakehouse.runtime.settings import settings

archive, log = sys.argv[1:]
class_archive.USE = class_archive.USE.replace(str(class_archive.ARCHIVE), archive)
name = "spark.driver.extraJavaOptions"
told = f"{settings(metastore=False)[name]} -Xlog:class+load=info:file={log}"
print(open_session(metastore=False, overrides={name: told}).sql("select 1 as one").first().one)
"""


def start(archive, folder):
    """Start Spark and return where each class came from."""
    log = folder / "classes.log"
    done = subprocess.run(
        [sys.executable, "-c", START, archive, log],
        env=os.environ | {"LAKEHOUSE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    return [line.rsplit("source: ", 1)[-1] for line in log.read_text().splitlines()]


def test_most_classes_come_from_the_archive(tmp_path):
    sources = start(ARCHIVE, tmp_path)
    # Spark's own; those of Java itself come from Java's archive.
    assert sources.count("shared objects file (top)") > len(sources) / 2


def test_an_archive_that_does_not_fit_is_passed_over(tmp_path):
    other = tmp_path / "other.jsa"
    other.write_bytes(b"of another Java")
    assert "shared objects file (top)" not in start(other, tmp_path)
