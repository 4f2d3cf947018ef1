"""What a person sees when something is wrong: one sentence that says what, and what to do."""

import errno
import json
import os
import subprocess
import sys
import time

import pytest
from conftest import PROJECT
from dbt_common.exceptions import DbtRuntimeError

from cdc_lakehouse.console.commands.add_table import writing_models
from cdc_lakehouse.errors import LakehouseError, short_message
from cdc_lakehouse.runtime import java
from cdc_lakehouse.runtime.java import find_java
from cdc_lakehouse.runtime.locks import hold
from dbt.adapters.lakehouse.impl import LakehouseAdapter

pytestmark = pytest.mark.full


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


def test_who_has_read_enough_is_no_error(home):
    """As of `lakehouse timings | head -1`, which ends before all is printed."""
    timings = {"command": "dbt-run", "began_at": "2026-11-26T10:00:00", "seconds": 1.0, "steps": []}
    (home / "lake" / "timings").mkdir(parents=True)
    (home / "lake" / "timings" / "dbt-run.json").write_text(json.dumps(timings))
    reads, writes = os.pipe()
    os.close(reads)
    command = [sys.executable, "-m", "cdc_lakehouse.console.cli", "timings"]
    with open(writes, "w") as pipe:
        done = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")


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


def test_a_name_that_spark_does_not_know_brings_no_advice_about_drop():
    said = """[TABLE_OR_VIEW_NOT_FOUND] The table or view `gold`.`nothing` cannot be found.
Search path: [`system`.`builtin`, `system`.`session`, `spark_catalog`.`default`].
If you did not qualify the name with a schema, verify the current_schema() output.
To tolerate the error on drop use DROP VIEW IF EXISTS or DROP TABLE IF EXISTS. SQLSTATE: 42P01;
'Project [*]"""
    assert short_message(Exception(said)) == said.splitlines()[0]


def test_a_place_that_a_function_cannot_read_is_named_without_its_calls():
    said = """Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times.
Traceback (most recent call last):
  File "udfs/claimed_json.py", line 60, in read_all
    yield from in_parts(columns, claims)
udfs._claims.Unreadable: LAKEHOUSE_CLAIMS names /claims, where a.json cannot be read. Correct it.

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException
"""
    assert short_message(Exception(said)) == (
        "LAKEHOUSE_CLAIMS names /claims, where a.json cannot be read. Correct it."
    )


def test_a_python_model_is_refused_in_one_sentence():
    model = {"original_file_path": "models/gold/shop/score.py"}
    with pytest.raises(DbtRuntimeError) as error:
        LakehouseAdapter.submit_python_job(None, model, "")
    assert "models/gold/shop/score.py is a Python model, which this adapter does not run" in str(
        error.value
    )


def test_a_checkout_that_add_table_cannot_write_is_named():
    refused = OSError(errno.EROFS, "Read-only file system", "/srv/shop/models/gold/shop/a.sql")
    with (
        pytest.raises(LakehouseError, match=r"a\.sql cannot be written: Read-only"),
        writing_models(),
    ):
        raise refused
