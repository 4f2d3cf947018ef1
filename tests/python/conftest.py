"""A lakehouse per test module, driven as a user drives it: ingest, dbt, SQL."""

import os
import random
import shutil
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from multiprocessing import get_context
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

PROJECT = Path(__file__).parents[2]
LANDING = PROJECT / "samples" / "landing"
# What dbt keeps of a project that it has parsed; of a copy it parses what differs.
PARSED = Path("target", "partial_parse.msgpack")


def _start(home, project):
    os.environ.update(LAKEHOUSE_DIR=str(home), DBT_LOG_PATH=str(home / "logs"))
    os.environ.update(DBT_TARGET_PATH=str(home / "target"), DBT_USE_COLORS="false")
    os.chdir(project)


def _root():
    from dbt.adapters.lakehouse.connections import root_session

    return root_session({})


def _dbt(arguments):
    from dbt.cli.main import dbtRunner

    done = dbtRunner().invoke(["--quiet", *arguments])
    results = getattr(done.result, "results", None) or []
    results = [r for r in results if hasattr(r, "node")]
    said = {r.node.name: r.message or str(r.status) for r in results}
    errors = [f"{r.node.name}: {r.message}" for r in results if r.status in ("error", "fail")]
    return done.success, said, [str(done.exception)] if done.exception else errors


def _ingest(path):
    from cdc_lakehouse.ingest import ingest_files

    _root()
    return ingest_files(path, project_dir=Path.cwd())


def _command(arguments):
    from cdc_lakehouse import cli

    _root()
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = cli.main(list(arguments))
    return code, out.getvalue(), err.getvalue()


def _ingest_kafka(request):
    from cdc_lakehouse.kafka import ingest_kafka

    _root()
    return ingest_kafka(request, project_dir=Path.cwd())


def _query(sql):
    try:
        return [row.asDict() for row in _root().newSession().sql(sql).collect()]
    except PySparkException as error:  # one that a test's process cannot be sent
        raise AssertionError(f"{sql}: {error}") from None


class Lakehouse:
    """One lakehouse in a process of its own, so that each has its own Spark and metastore."""

    def __init__(self, home: Path, project: Path = PROJECT):
        self.home, self.project = home, project
        spawn = get_context("spawn")
        self.process = ProcessPoolExecutor(1, spawn, initializer=_start, initargs=(home, project))

    def ingest(self, path):
        """Land the files below `path`; return the ingest's report."""
        return self.process.submit(_ingest, Path(path)).result()

    def ingest_kafka(self, request):
        """Land what is new in Kafka; return the ingest's report."""
        return self.process.submit(_ingest_kafka, request).result()

    def dbt(self, *arguments, fails=False):
        """Run dbt; return what each node said (or, where it has to fail, the messages)."""
        success, said, errors = self.process.submit(_dbt, arguments).result()
        assert success is not fails, errors
        return errors if fails else said

    def command(self, *arguments):
        """Run the command line in the lakehouse's process; return exit code, output and errors."""
        return self.process.submit(_command, arguments).result()

    def query(self, sql):
        """Return the rows of a query as dictionaries."""
        return self.process.submit(_query, sql).result()

    def files(self):
        """Return the data files of all tables."""
        warehouse = self.home / "warehouse"
        files = {str(path.relative_to(warehouse)) for path in warehouse.rglob("*.parquet")}
        return {name for name in files if "/_delta_log/" not in name}

    def stop(self):
        self.process.shutdown()


@contextmanager
def lakehouses(tmp_path_factory):
    """Give a function that opens an empty lakehouse, maybe on a changed copy of the project."""
    opened = []
    parsed = tmp_path_factory.getbasetemp() / PARSED.name

    def open_it(name, change=None):
        home = tmp_path_factory.mktemp(name)
        project = PROJECT
        if change:
            project = home / "project"
            left_out = shutil.ignore_patterns(".git", ".venv", ".lakehouse", "target", "logs")
            shutil.copytree(PROJECT, project, ignore=left_out, symlinks=True)
            change(project)
        opened.append(Lakehouse(home / "lake", project))
        (home / "lake" / "target").mkdir(parents=True)
        if parsed.exists():
            shutil.copy(parsed, home / "lake" / PARSED)
        return opened[-1]

    yield open_it
    for lakehouse in opened:
        lakehouse.stop()
        if lakehouse.project == PROJECT and (lakehouse.home / PARSED).exists():
            shutil.copy(lakehouse.home / PARSED, parsed)


@pytest.fixture(scope="module")
def open_lakehouse(tmp_path_factory):
    """Return a function that opens a lakehouse for the tests of a module; see `lakehouses`."""
    with lakehouses(tmp_path_factory) as open_it:
        yield open_it


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """A lakehouse that has landed the sample topics and was built and tested once.

    Unit tests know nothing of it; `test_sample` runs them.
    """
    with lakehouses(tmp_path_factory) as open_it:
        lakehouse = open_it("sample")
        lakehouse.report = lakehouse.ingest(LANDING)
        lakehouse.dbt("build", "--exclude-resource-type", "unit_test")
        yield lakehouse


# Seeds of random tests, the same for all processes of a run. What a commit does is tested with the
# same histories every time; SEED=random and its like look for new ones, and are told at the start.
SEEDS = ("SEED", "HISTORY_SEED", "HOSTILE_SEED", "KILL_SEED")
# What tests tell of what they did, for the end of the run.
SAID: list[str] = []


def pytest_configure(config):
    for name in SEEDS:
        seed = os.environ.get(name, "350423")
        os.environ[name] = str(random.randrange(10**6)) if seed == "random" else seed


def pytest_report_header(config):
    return " ".join(f"{name}={os.environ[name]}" for name in SEEDS)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["said"] = SAID


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    SAID.extend(getattr(node, "workeroutput", {}).get("said", []))


def pytest_terminal_summary(terminalreporter):
    for line in SAID:
        terminalreporter.write_line(line)
