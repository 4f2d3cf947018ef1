"""The same project on a Spark standalone cluster: a master and two workers, each a process."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest
from broker import _free_ports
from conftest import LANDING, PROJECT, Lakehouse
from shop import TABLES, as_text, expected_rows

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.settings import settings

SPARK = Path(pyspark.__file__).parent
READY = re.compile("New state: ALIVE|Successfully registered with master")
EVENTS = "spark.eventLog.enabled true\nspark.eventLog.compress false\nspark.eventLog.dir "


@contextmanager
def daemon(home, name, *arguments):
    """Run Spark's daemon `name` until it says that it is ready; what it starts ends with it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    options = {"SPARK_HOME": SPARK, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
    options["SPARK_DAEMON_JAVA_OPTS"] = "-Dspark.master.rest.enabled=false"
    options["SPARK_LOCAL_DIRS"] = home
    command = [SPARK / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *arguments]
    with open(home / "log", "wb") as log:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--webui-port", "0"],
            cwd=home,
            env=environment | {name: str(value) for name, value in options.items()},
            start_new_session=True,
            stdout=log,
            stderr=log,
        )
    try:
        while READY.search(said := (home / "log").read_text()) is None:
            assert process.poll() is None, said
            time.sleep(0.1)
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The address of a master, and the folders of its two workers of one core and 1 GB each."""
    homes = [tmp_path_factory.mktemp(name) for name in ("master", "worker", "worker")]
    port = _free_ports(1)[0]
    address = f"spark://127.0.0.1:{port}"
    with ExitStack() as daemons:
        daemons.enter_context(daemon(homes[0], "master.Master", "--port", str(port)))
        for home in homes[1:]:
            size = ("--cores", "1", "--memory", "1g", "--work-dir", home)
            daemons.enter_context(daemon(home, "worker.Worker", *size, address))
        yield address, homes[1:]


class Project:
    """The commands of a user on one lakehouse, which runs on a cluster."""

    def __init__(self, home, master):
        self.home, self.events, self.landing = home / "lake", home / "events", home / "landing"
        self.events.mkdir()
        (home / "spark-defaults.conf").write_text(EVENTS + self.events.as_uri())
        names = {"LAKEHOUSE_DIR": self.home, "LAKEHOUSE_MASTER": master, "SPARK_CONF_DIR": home}
        names |= {"LAKEHOUSE_CORES": 2, "LAKEHOUSE_MEMORY": "1g", "SPARK_LOCAL_IP": "127.0.0.1"}
        names |= {"DBT_TARGET_PATH": home / "target", "DBT_LOG_PATH": home / "logs"}
        self.environment = os.environ | {name: str(value) for name, value in names.items()}

    def run(self, *command, code=0):
        """Run a command and return what it said."""
        command = [sys.executable, "-m", *map(str, command)]
        run = {"cwd": PROJECT, "env": self.environment, "capture_output": True, "text": True}
        done = subprocess.run(command, check=False, **run)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout, done.stderr

    def land_and_build(self, *topics):
        for topic in topics:
            shutil.copytree(LANDING / topic, self.landing / topic)
        self.run("cdc_lakehouse.console.cli", "ingest", "files", self.landing)
        self.run("dbt.cli.main", "build", "--resource-type", "seed", "--resource-type", "model")

    def gold(self):
        """Return the gold tables as the embedded Spark reads them."""
        lakehouse, tables = Lakehouse(self.home), {}
        try:
            for table, key in TABLES.items():
                names = expected_rows(table)[0]
                rows = lakehouse.query(f"select * from gold.{table} order by {', '.join(key)}")
                tables[table] = [{name: as_text(row[name]) for name in names} for row in rows]
        finally:
            lakehouse.stop()
        return tables

    def tasks(self):
        """Return the executor and the metrics of each task, as Spark's event log has them."""
        lines = (line for f in self.events.rglob("events_*") for line in f.read_text().splitlines())
        ended = (e for e in map(json.loads, lines) if e["Event"] == "SparkListenerTaskEnd")
        return [event["Task Info"] for event in ended]


@pytest.fixture(scope="module")
def project(cluster, tmp_path_factory):
    """All of the sample but one of its Avro topics, landed and built on the cluster."""
    project = Project(tmp_path_factory.mktemp("standalone"), cluster[0])
    topics = sorted(path.name for path in LANDING.iterdir())
    project.land_and_build(*(topic for topic in topics if topic != "shop.payments"))
    return project


@pytest.mark.long
def test_gold_is_what_was_worked_out_by_hand_also_after_an_increment(project):
    expected = {table: expected_rows(table) for table in TABLES}
    assert project.gold() == expected | {"payments": []}
    project.land_and_build("shop.payments")
    assert project.gold() == expected


@pytest.mark.long
def test_both_workers_have_worked_and_have_run_python(project):
    tasks = project.tasks()
    assert not [task for task in tasks if task["Failed"]]
    assert {task["Executor ID"] for task in tasks} == {"0", "1"}
    assert "data sent to Python workers" in {m["Name"] for t in tasks for m in t["Accumulables"]}


@pytest.mark.long
def test_a_master_that_is_not_there_is_named(tmp_path):
    project = Project(tmp_path, f"spark://127.0.0.1:{_free_ports(1)[0]}")
    name = project.environment["LAKEHOUSE_MASTER"]
    _, said = project.run("cdc_lakehouse.console.cli", "ingest", "files", LANDING, code=2)
    assert said.startswith(f"lakehouse: LAKEHOUSE_MASTER={name}: no master answers at 127.0.0.1:")
    assert len(said.splitlines()) == 1
    said, errors = project.run("dbt.cli.main", "seed", code=2)
    assert f"LAKEHOUSE_MASTER={name}: no master answers at 127.0.0.1:" in said
    assert "Traceback" not in said + errors


@pytest.mark.long
def test_executors_log_nothing_of_what_they_read(cluster, project):
    logs = [path for worker in cluster[1] for path in worker.glob("app-*/*/stderr")]
    assert logs
    assert not [path for path in logs if " INFO " in path.read_text()]


@pytest.mark.parametrize("name", ["spark://", "spark://host", "yarn", "local[0]", "host:7077"])
def test_what_is_no_master_is_named(monkeypatch, name):
    monkeypatch.setenv("LAKEHOUSE_MASTER", name)
    with pytest.raises(LakehouseError) as error:
        settings(metastore=False)
    assert str(error.value).startswith(f"LAKEHOUSE_MASTER={name} is no master to run on. Name ")


def test_a_cluster_gets_nothing_of_this_machine(monkeypatch):
    monkeypatch.setenv("LAKEHOUSE_MASTER", "spark://one:7077,[::1]:7077")
    values = settings(metastore=True)
    assert values["spark.master"] == "spark://one:7077,[::1]:7077"
    assert "127.0.0.1" not in "".join(values.values())
