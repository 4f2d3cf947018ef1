"""What a person sees when something is wrong: one sentence that says what, and what to do."""

import os
import subprocess
import sys
import time

import pytest
from conftest import PROJECT

from cdc_lakehouse import java
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.java import find_java
from cdc_lakehouse.session import hold


def run(*command, **environment):
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=PROJECT,
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path / "lake"))
    return tmp_path


def test_a_second_dbt_is_told_who_holds_the_lakehouse(home):
    lock = hold("metastore", "Wait.")
    started = time.monotonic()
    with pytest.raises(LakehouseError, match=rf"in use by process {os.getpid()} .*Wait\."):
        hold("metastore", "Wait.")
    assert time.monotonic() - started < 1
    said = run("dbt.cli.main", "run", DBT_TARGET_PATH=home / "t", DBT_LOG_PATH=home / "l")
    lock.close()
    assert said.returncode != 0
    assert f"is in use by process {os.getpid()}" in said.stdout
    assert "Only one dbt can use it at a time" in said.stdout
    assert "Traceback" not in said.stdout + said.stderr


def test_a_lock_ends_with_its_holder(home):
    hold("metastore", "Wait.").close()
    hold("metastore", "Wait.").close()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, "No Java found"),
        ("echo 'openjdk version \"11.0.2\"' >&2", "is Java 11, too old"),
        ("echo 'java version \"1.8.0_392\"' >&2", "is Java 8, too old"),
        ("echo nonsense >&2", "does not tell its version"),
    ],
)
def test_a_missing_or_old_java_is_named(tmp_path, monkeypatch, script, said):
    binary = tmp_path / "bin" / "java"
    binary.parent.mkdir()
    if script:
        binary.write_text(f"#!/bin/sh\n{script}\n")
        binary.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(LakehouseError, match=said) as error:
        find_java()
    assert f"Install Java {java.MINIMUM_JAVA} or later" in str(error.value)


def test_a_java_of_the_right_age_is_taken(tmp_path, monkeypatch):
    binary = tmp_path / "bin" / "java"
    binary.parent.mkdir()
    binary.write_text("#!/bin/sh\necho 'openjdk version \"17.0.9\"' >&2\n")
    binary.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() == str(binary)
