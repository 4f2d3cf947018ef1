"""A lakehouse per test module, driven as a user drives it: ingest, dbt, SQL."""

import os
import random
import shutil
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from multiprocessing import get_context
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from recorded import Recorder, longest_first, read, share_of

from cdc_lakehouse.runtime.project import use_project
from cdc_lakehouse.runtime.session import open_session

# Tests are typed at a terminal, too, and none leaves a Spark behind it.
os.environ["LAKEHOUSE_KEEP_WARM"] = "off"

PROJECT = Path(__file__).parents[1]
LANDING = PROJECT / "samples" / "landing"
# What dbt keeps of a project that it has parsed; of a copy it parses what differs.
PARSED = Path("target", "partial_parse.msgpack")


def _start(home, project):
    os.environ.update(LAKEHOUSE_DIR=str(home), DBT_LOG_PATH=str(home / "logs"))
    os.environ.update(DBT_TARGET_PATH=str(home / "target"), DBT_USE_COLORS="false")
    os.chdir(project)
    use_project(project)


def _start_java(folder):
    """Start the Java of a process that will be at it for long; Spark starts in it."""
    from cdc_lakehouse.runtime.driver import hadoop

    hadoop(folder, scheme="")


def _enter(home, project):
    global _thread
    _start(home, project)
    _thread = ThreadPoolExecutor(1)


def _in_thread(function, *arguments):
    return _thread.submit(function, *arguments).result()


def _leave():
    """Stop Spark and let go of the metastore; Java stays."""
    from py4j.protocol import Py4JError
    from pyspark import SparkContext

    from dbt.adapters.lakehouse import connections

    _thread.shutdown()
    if connections._root is not None:
        url = f"jdbc:derby:;databaseName={os.environ['LAKEHOUSE_DIR']}/metastore_db;shutdown=true"
        jvm = SparkContext._jvm
        connections._root.stop()
        with suppress(Py4JError):  # Derby says that it has done so by an error
            jvm.java.sql.DriverManager.getConnection(url)
        connections._root = None
    if connections._held is not None:
        connections._held.close()
        connections._held = None


def _root():
    from dbt.adapters.lakehouse.connections import root_session

    return root_session({})


def _dbt(arguments):
    from dbt.cli.main import dbtRunner

    done = dbtRunner().invoke(["--quiet", *arguments])
    results = getattr(done.result, "results", None) or []
    results = [r for r in results if hasattr(r, "node") and r.node.resource_type != "operation"]
    said = {r.node.name: r.message or str(r.status) for r in results}
    errors = [f"{r.node.name}: {r.message}" for r in results if r.status in ("error", "fail")]
    return done.success, said, [str(done.exception)] if done.exception else errors


def _ingest(path):
    from cdc_lakehouse.ingest.landing import ingest_files

    _root()
    return ingest_files(path, project_dir=Path.cwd())


def _command(arguments, is_alone=False):
    from cdc_lakehouse.console import cli
    from dbt.adapters.lakehouse import connections

    _root()
    if is_alone:
        connections._held.close()
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = cli.main(list(arguments))
    return code, out.getvalue(), err.getvalue()


def _ingest_kafka(request):
    from cdc_lakehouse.ingest.kafka.source import ingest_kafka

    _root()
    return ingest_kafka(request, project_dir=Path.cwd())


def _query(sql):
    try:
        return [row.asDict() for row in _root().newSession().sql(sql).collect()]
    except PySparkException as error:  # one that a test's process cannot be sent
        raise AssertionError(f"{sql}: {error}") from None


def _read_beside(queries, arguments):
    run, rounds = _thread.submit(_dbt, arguments), []
    with ThreadPoolExecutor(1) as reader:  # Hive keeps a metastore for each thread
        while not run.done():
            rounds.append([reader.submit(_query, sql).result() for sql in queries])
    success, _, errors = run.result()
    assert success, errors
    return rounds


def _seen():
    from cdc_lakehouse.gold.source_tables import seen_tables

    return seen_tables(_root().newSession())


def copy_project(folder, change, source=PROJECT):
    """Copy a project into a folder, and let `change` make of it what a test needs."""
    left_out = shutil.ignore_patterns(".git", ".venv", ".lakehouse", "target", "logs")
    shutil.copytree(source, folder, ignore=left_out, symlinks=True)
    change(folder)
    return folder


class Process:
    """A process whose Spark serves one lakehouse after another, for Java is slow at first.

    Each has a thread of its own: Hive keeps for a thread the metastore that the thread used first.
    """

    def __init__(self):
        self.executor = ProcessPoolExecutor(1, get_context("spawn"))
        self.is_free = True

    def enter(self, home, project):
        self.is_free = False
        self.executor.submit(_enter, home, project).result()

    def submit(self, function, *arguments):
        return self.executor.submit(_in_thread, function, *arguments)

    def leave(self):
        self.executor.submit(_leave).result()
        self.is_free = True

    def end(self):
        self.executor.shutdown()


class Lakehouse:
    """One lakehouse in a process, its own or one that is free, with its own Spark and metastore."""

    def __init__(self, home: Path, project: Path = PROJECT, process: Process | None = None):
        self.home, self.project, self.is_shared = home, project, process is not None
        self.process = process or Process()
        self.process.enter(home, project)

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

    def command(self, *arguments, is_alone=False):
        """Run the command line in the lakehouse's process; return exit code, output and errors.

        One `is_alone` takes the lakehouse itself, for which dbt has to let go of it.
        """
        return self.process.submit(_command, arguments, is_alone).result()

    def query(self, sql):
        """Return the rows of a query as dictionaries."""
        return self.process.submit(_query, sql).result()

    def read_beside(self, queries, *arguments):
        """Run dbt, and ask queries all the while; return the rows of each round."""
        return self.process.executor.submit(_read_beside, queries, arguments).result()

    def seen_tables(self):
        """Return the source tables that silver has seen, as `lakehouse add-table` finds them."""
        return self.process.submit(_seen).result()

    def check_duplicates(self):
        """Compare all images of silver.events; return how many of its changes are duplicates."""
        row = "topic, partition, offset, row_number"
        compared = (
            f"select {row}, row_number() over (partition by format, database_name, schema_name,"
            " table_name, sequence, operation, to_json(struct(before, after))"
            " order by bronze_version, topic, partition, offset, row_number) > 1 as is_duplicate"
            " from silver.events where kind = 'row_change'"
            f" union all select {row}, null from silver.events where kind <> 'row_change'"
        )
        shown = f"select {row}, is_duplicate from silver.events"
        for one, other in ((compared, shown), (shown, compared)):
            assert self.query(f"({one}) except all ({other})") == []
        (found,) = self.query(f"select count_if(is_duplicate) as n from ({shown})")
        return found["n"]

    def files(self):
        """Return the data files of all tables."""
        warehouse = self.home / "warehouse"
        files = {str(path.relative_to(warehouse)) for path in warehouse.rglob("*.parquet")}
        return {name for name in files if "/_delta_log/" not in name}

    def stop(self):
        if not self.is_shared:
            self.process.end()
        elif not self.process.is_free:
            self.process.leave()


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    """A Spark in this process for lakehouses that are found by their paths."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAKEHOUSE_DIR", str(tmp_path_factory.mktemp("spark")))
        return open_session(metastore=False)


@pytest.fixture(scope="session")
def process(tmp_path_factory):
    """The process that lakehouses share, one after another.

    It is worth to optimise what its Java does, as it is not in a run of some seconds.
    """
    process = Process()
    process.executor.submit(_start_java, tmp_path_factory.mktemp("java")).result()
    yield process
    process.end()


@pytest.fixture(scope="module")
def open_lakehouse(tmp_path_factory, process):
    """Return a function that opens an empty lakehouse, maybe on a changed copy of a project.

    It is opened in the process that is shared if that is free, unless it has to have its `own`.
    """
    opened = []
    parsed = tmp_path_factory.getbasetemp() / PARSED.name

    def open_it(name, change=None, own=False, source=PROJECT):
        home = tmp_path_factory.mktemp(name)
        project = source
        if change:
            project = copy_project(home / "project", change, source)
        (home / "lake" / "target").mkdir(parents=True)
        if source == PROJECT and parsed.exists():
            shutil.copy(parsed, home / "lake" / PARSED)
        is_shared = process.is_free and not own
        opened.append(Lakehouse(home / "lake", project, process if is_shared else None))
        return opened[-1]

    yield open_it
    for lakehouse in opened:
        lakehouse.stop()
        if lakehouse.project == PROJECT and (lakehouse.home / PARSED).exists():
            shutil.copy(lakehouse.home / PARSED, parsed)


# Seeds of random tests, the same for all processes of a run. What a commit does is tested with the
# same histories every time; SEED=random and its like look for new ones, and are told at the start.
SEEDS = ("SEED", "HISTORY_SEED", "HOSTILE_SEED", "KILL_SEED")
# What tests tell of what they did, for the end of the run.
SAID: list[str] = []


def pytest_addoption(parser):
    parser.addoption(
        "--record-timings", action="store_true", help="keep the seconds in tests/timings.json"
    )
    parser.addoption("--share", default="1/1", help="of what is asked for, such as 2/3: the second")


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(config.getoption("--record-timings")))
    for name in SEEDS:
        seed = os.environ.get(name, "350423")
        os.environ[name] = str(random.randrange(10**6)) if seed == "random" else seed


@pytest.hookimpl(trylast=True)  # after the marks that are asked for
def pytest_collection_modifyitems(config, items):
    """Begin with what takes longest, that no worker is left alone with it."""
    tests = defaultdict(list)
    for item in items:
        tests[item.path.name].append(item.nodeid.partition("::")[2])
    kept = read()
    modules = share_of(tests, kept, config.getoption("--share"))
    config.hook.pytest_deselected(items=[i for i in items if i.path.name not in modules])
    places = {name: place for place, name in enumerate(longest_first(sorted(modules), kept))}
    items[:] = sorted(
        (item for item in items if item.path.name in modules),
        key=lambda item: places[item.path.name],
    )


def parameters_of_asked(request):
    """Return the parameters of the tests of a module that are run and use the fixture at work."""
    return [
        item.callspec.params
        for item in request.session.items
        if item.path == request.path
        and request.fixturename in item.fixturenames
        and hasattr(item, "callspec")
    ]


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
