"""spark.log stays short, whoever writes it."""

import subprocess
import sys
import time

import pytest

from cdc_lakehouse.runtime import spark_log
from cdc_lakehouse.runtime.driver import standard_error_to

pytestmark = pytest.mark.full

# Writes lines to its standard error as Java does, until there is a file of this name.
WRITER = """
import os, sys
number = 0
while not os.path.exists(sys.argv[1]):
    number += 1
    os.write(2, b"%08d WARN of a process that stays\\n" % number)
os.write(2, b"the last\\n")
"""


@pytest.fixture
def limits(monkeypatch):
    monkeypatch.setattr(spark_log, "MOST_BYTES", 200_000)
    monkeypatch.setattr(spark_log, "KEPT_BYTES", 10_000)
    monkeypatch.setattr(spark_log, "SECONDS", 0.01)


def test_a_long_log_keeps_its_last_lines(tmp_path, limits):
    path = tmp_path / "spark.log"
    path.write_text("".join(f"line {number}\n" for number in range(10_000)))
    spark_log.shorten(path)
    assert path.read_text().startswith("line 0\n")  # it is not long
    path.write_text("".join(f"line {number}\n" for number in range(100_000)))
    spark_log.shorten(path)
    lines = path.read_text().splitlines()
    assert lines == [f"line {number}" for number in range(100_000 - len(lines), 100_000)]
    assert 9_900 < path.stat().st_size <= 10_000
    spark_log.empty(path)
    assert path.read_bytes() == b""


def test_the_log_of_a_process_that_stays_is_bounded(tmp_path, limits):
    path, end = tmp_path / "spark.log", tmp_path / "end"
    with standard_error_to(path):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(end)])
    sizes = []
    while len(sizes) < 100:
        time.sleep(0.01)
        sizes.append(path.stat().st_size)
    end.touch()
    assert writer.wait(30) == 0
    assert max(sizes) < 10_000_000
    numbers = [int(line.split()[0]) for line in path.read_text().splitlines()[1:-1]]
    assert numbers and max(numbers) * 40 > 3 * spark_log.MOST_BYTES
    assert path.read_text().endswith("the last\n")
