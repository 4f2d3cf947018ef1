"""Commands that run at once: both are right, or one is told at once who holds the lakehouse.

Who holds is made sure by stopping it (SIGSTOP) while the other is refused; who is refused starts no
Java, for a JAVA_HOME that would tell stands in its way.
"""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import pyspark
import pytest
from conftest import SAID, _dbt, _start
from faults import DBT, LAKEHOUSE, Process, run
from laboratory import change, thing, truncate, write_models
from shop import write_messages

from cdc_lakehouse.runtime.locks import _posix_lock_holder
from cdc_lakehouse.runtime.session import open_session

pytestmark = pytest.mark.long

MODELS = {"things": "", "things_history": "materialized='history'"}
NODES = ("events", "row_images", *MODELS)
THINGS = range(1, 101)


class Overlap:
    """A lakehouse whose dbt holds the metastore, and messages for it."""

    def __init__(self, lakehouse, folder):
        self.lakehouse, self.landing = lakehouse, folder / "landing"
        self.home, self.project = lakehouse.home, lakehouse.project
        self.offset, self.position = 0, 0
        java = folder / "no java" / "bin" / "java"
        java.parent.mkdir(parents=True)
        self.started = folder / "java was started"
        java.write_text(f"#!/bin/sh\necho started >> '{self.started}'\n")
        java.chmod(0o755)
        self.without_java = {"JAVA_HOME": str(java.parents[1])}

    def put(self, *messages, topic="lab.things"):
        """Write messages, of which none is landed, at the next offsets."""
        rows = [(topic, 0, self.offset + n, json.dumps(m).encode()) for n, m in enumerate(messages)]
        self.offset += len(rows)
        write_messages(self.landing / f"{self.offset:06}.parquet", rows)

    def generation(self, name, truncated=False):
        """Messages that give every thing a new name, perhaps to the table that was emptied."""
        self.position += 10
        messages = [truncate(self.position)] if truncated else []
        rows = [thing(number, name) for number in THINGS]
        if self.position == 10 or truncated:
            return [*messages, change("INSERT", self.position + 1, *rows)]
        old = [{"name": "older"}] * len(rows)
        return [change("UPDATE", self.position + 1, *rows, old=old)]

    def start(self, module, *arguments, **options):
        return Process(self.home, self.project, module, *arguments, **options)

    def ingest(self, **options):
        return self.start(LAKEHOUSE, "ingest", "files", self.landing, **options)

    def run_dbt(self):
        """Begin a dbt run in the process that holds the metastore; return its future."""
        return self.lakehouse.process.submit(_dbt, ("run", "-s", *NODES))

    def process_rest(self):
        """Land and run what is left; return the names of the things and the messages of bronze."""
        self.lakehouse.ingest(self.landing)
        self.lakehouse.dbt("run", "-s", *NODES)
        rows = self.lakehouse.query("select topic, partition, offset from bronze.messages")
        identities = Counter(tuple(row.values()) for row in rows)
        assert set(identities.values()) == {1}
        assert len(identities) == self.offset
        names = self.lakehouse.query(
            "select name, count(*) as things from gold.things group by name"
        )
        return {row["name"]: row["things"] for row in names}

    def assert_refused(self, module, *arguments, holder, remedy):
        """Run a command that has to be refused before it starts Spark."""
        refused = run(self.home, self.project, module, *arguments, environment=self.without_java)
        assert refused.process.returncode == 2
        assert f"is in use by process {holder} (" in refused.said
        assert remedy in refused.said
        assert "Traceback" not in refused.said
        assert not self.started.exists()


@contextmanager
def stopped(process):
    """Let a process and what it has started stand still."""
    os.killpg(process.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.killpg(process.process.pid, signal.SIGCONT)


@pytest.fixture(scope="module")
def overlap(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("overlap", change=lambda project: write_models(project, MODELS))
    overlap = Overlap(lakehouse, tmp_path_factory.mktemp("overlap"))
    overlap.put(*overlap.generation("first"))
    lakehouse.ingest(overlap.landing)
    lakehouse.dbt("seed")
    lakehouse.dbt("run", "-s", *NODES)
    return overlap


def holder_of(overlap, name):
    """Return the process that the lock's file names."""
    with open(overlap.home / "locks" / name) as file:
        return file.read().removeprefix("process ").partition(" ")[0]


def test_a_second_dbt_and_a_query_are_refused_while_a_run_holds_the_tables(overlap):
    overlap.put(*overlap.generation("second"))
    overlap.lakehouse.ingest(overlap.landing)
    first = overlap.run_dbt()
    holder = holder_of(overlap, "metastore")
    for module, *arguments in (
        (DBT, "run", "-s", *NODES),
        (LAKEHOUSE, "query", "select 1"),
        (LAKEHOUSE, "show"),
        (LAKEHOUSE, "add-table", "--all"),
    ):
        overlap.assert_refused(module, *arguments, holder=holder, remedy="wait for it to end")
    succeeded, _, errors = first.result()
    assert succeeded, errors
    assert overlap.process_rest() == {"second": len(THINGS)}


def test_a_second_ingest_is_refused_and_the_first_is_not_disturbed(overlap):
    overlap.put(*overlap.generation("third"))
    first = overlap.ingest()
    try:
        first.wait_for(lambda: "files found" in first.said)
        with stopped(first):
            overlap.assert_refused(
                *(LAKEHOUSE, "ingest", "files", overlap.landing),
                holder=first.process.pid,
                remedy="run again when it has ended",
            )
        assert first.wait() == 0, first.said
    finally:
        first.kill()
    assert "1 messages" in first.said
    assert overlap.process_rest() == {"third": len(THINGS)}


def test_an_ingest_during_a_dbt_run_takes_nothing_from_either(overlap):
    """Whatever of it the run reads, the next one processes the rest."""
    overlap.put(*overlap.generation("fourth"))
    overlap.lakehouse.ingest(overlap.landing)
    overlap.put(*overlap.generation("fifth"))
    ingest = overlap.ingest()
    try:
        ingest.wait_for(lambda: "files found" in ingest.said)
        run_of_dbt = overlap.run_dbt()
        assert ingest.wait() == 0, ingest.said
    finally:
        ingest.kill()
    succeeded, _, errors = run_of_dbt.result()
    assert succeeded, errors
    assert overlap.process_rest() == {"fifth": len(THINGS)}
    overlap.lakehouse.dbt("run", "-s", "message_accounting")
    overlap.lakehouse.dbt("test", "-s", "every_message_has_one_result", "accounting_adds_up")


def test_a_reroute_during_an_ingest_routes_each_message_once(overlap):
    """One that comes too early is refused or leaves the rest to the next, and says so."""
    overlap.put(change("INSERT", 1, thing(1, "routed later")), topic="later.things")
    overlap.lakehouse.ingest(overlap.landing)
    topics = overlap.project / "seeds" / "topics.csv"
    topics.write_text(topics.read_text() + "later.*,dts_canal,,,,\n")
    overlap.put(*overlap.generation("sixth"))
    ingest = overlap.ingest()
    reroute = overlap.start(LAKEHOUSE, "reroute", log=overlap.home.with_suffix(".reroute"))
    try:
        for process in (ingest, reroute):
            assert process.wait() == 0 or "is in use by process" in process.said, process.said
            assert "Traceback" not in process.said
    finally:
        ingest.kill()
        reroute.kill()
    overlap.process_rest()
    routed = (
        "select format, count(*) as n from bronze.messages where topic = 'later.things' group by 1"
    )
    assert overlap.lakehouse.query(routed) == [{"format": "dts_canal", "n": 1}]


def read_until(ended, sql):
    """Read again and again until the file `ended` is there, then once; return what was seen."""
    # The root session of a process that has none is one without a metastore.
    spark, seen, is_last = open_session(metastore=False).newSession(), [], False
    while not is_last:
        is_last = ended.exists()
        seen.append([tuple(row) for row in spark.sql(sql).collect()])
        ended.with_suffix(".read").touch()
    return seen


def run_beside_a_reader(ended, sql):
    """Run dbt beside a reader of the same process; return what the reader saw, and the result."""
    with ThreadPoolExecutor(1) as thread:
        reads = thread.submit(read_until, ended, sql)
        try:
            result = _dbt(("run", "-s", *NODES))
        finally:
            ended.touch()
        return reads.result(), result


@pytest.fixture(scope="module")
def reader(overlap):
    """A process of its own that reads tables by their paths."""
    spawn, home = get_context("spawn"), (overlap.home, overlap.project)
    with ProcessPoolExecutor(1, spawn, initializer=_start, initargs=home) as process:
        yield process


@pytest.mark.parametrize("truncated", [False, True])
def test_a_reader_sees_the_table_before_or_after_a_merge(overlap, reader, tmp_path, truncated):
    """All rows change, in one commit: a read that mixes two states has two names, or too few."""
    before = overlap.process_rest()
    name = f"seventh, truncated: {truncated}"
    overlap.put(*overlap.generation(name, truncated))
    overlap.lakehouse.ingest(overlap.landing)
    names = "select name, count(*) from {} where {} group by name"
    path = overlap.home / "warehouse" / "gold_storage.db" / "things"
    is_row = "_truncated_table is null and _operation <> 'delete'"
    ended = tmp_path / "ended"
    by_path = reader.submit(read_until, ended, names.format(f"delta.`{path}`", is_row))
    while not ended.with_suffix(".read").exists() and not by_path.done():
        time.sleep(0.1)
    sql = names.format("gold.things", "true")
    run = overlap.lakehouse.process.submit(run_beside_a_reader, ended, sql)
    seen, (succeeded, _, errors) = run.result()
    assert succeeded, errors
    states = [[(next(iter(before)), len(THINGS))], [(name, len(THINGS))]]
    stored = by_path.result()
    assert stored[0] == states[0]
    for reads in (seen, stored):
        assert [rows for rows in reads if rows not in states] == []
        assert reads == sorted(reads, key=states.index), "a read saw an older state than one before"
        assert reads[-1] == states[1]
    SAID.append(f"readers beside a merge: {len(seen)} reads by name, {len(stored)} by path")
    assert overlap.process_rest() == {name: len(THINGS)}


@contextmanager
def derby(folder, url):
    """Start Derby's own client on a database, as any other program that opens it does."""
    home = os.environ.get("JAVA_HOME")
    jars = (Path(pyspark.__file__).parent / "jars").glob("derby*.jar")
    with subprocess.Popen(
        [
            *(f"{home}/bin/java" if home else "java", "-cp", ":".join(map(str, jars))),
            *("-Dderby.stream.error.field=java.lang.System.err", "org.apache.derby.tools.ij"),
        ],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as client:
        client.stdin.write(f"connect 'jdbc:derby:{url}';\n")
        client.stdin.flush()
        try:
            yield client
        finally:
            client.kill()


def test_another_program_cannot_open_the_metastore_of_a_run(overlap):
    with derby(overlap.home, "metastore_db") as client:
        said, _ = client.communicate("exit;\n")
    assert "Another instance of Derby may have already booted the database" in said
    assert sum(overlap.process_rest().values()) == len(THINGS)


def test_a_metastore_that_another_program_has_open_is_refused(overlap, tmp_path):
    home = tmp_path / "lake"
    home.mkdir()
    lock = home / "metastore_db" / "dbex.lck"
    with derby(home, "metastore_db;create=true") as client:
        while _posix_lock_holder(lock) != client.pid:
            assert client.poll() is None, client.communicate()
            time.sleep(0.1)
        refused = run(
            home, overlap.project, DBT, "run", "-s", "events", environment=overlap.without_java
        )
    assert refused.process.returncode != 0
    assert f"{lock.parent} is in use by process {client.pid} (" in refused.said
    assert "Wait for it to end, or stop it." in refused.said
    assert "Traceback" not in refused.said
    assert not overlap.started.exists()
