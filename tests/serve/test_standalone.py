"""The same project on a Spark standalone cluster: a master and two workers, each a process."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from broker import _free_ports
from cluster import WORKERS, Cluster
from commands import environment
from conftest import LANDING, PROJECT, Lakehouse
from shop import TABLES, as_text, expected_rows

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime import worker_packages
from cdc_lakehouse.runtime.settings import settings

pytestmark = pytest.mark.full

EVENTS = "spark.eventLog.enabled true\nspark.eventLog.compress false\nspark.eventLog.dir "


@pytest.fixture(scope="module")
def cluster():
    """A cluster whose workers share all folders with the commands."""
    with Cluster() as cluster:
        yield cluster


class Project:
    """The commands of a user on one lakehouse, which runs on a cluster."""

    def __init__(self, home, master):
        self.home, self.events, self.landing = home / "lake", home / "events", home / "landing"
        self.events.mkdir()
        (home / "spark-defaults.conf").write_text(EVENTS + self.events.as_uri())
        names = {"LAKEHOUSE_DIR": self.home, "LAKEHOUSE_MASTER": master, "SPARK_CONF_DIR": home}
        names |= {"LAKEHOUSE_CORES": 2, "LAKEHOUSE_MEMORY": "1g", "SPARK_LOCAL_IP": "127.0.0.1"}
        names |= {"DBT_TARGET_PATH": home / "target", "DBT_LOG_PATH": home / "logs"}
        self.environment = environment(**names)

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
    project = Project(tmp_path_factory.mktemp("standalone"), cluster.address)
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
    logs = [p for name in WORKERS for p in cluster.work_dir(name).glob("app-*/*/stderr")]
    assert logs
    told = [line for path in logs for line in path.read_text().splitlines() if " INFO " in line]
    assert not [line for line in told if " main INFO " not in line]  # how Log4j starts


@pytest.mark.parametrize(
    "name", ["spark://", "spark://host", "yarn", "k8s://host:443", "local[0]", "host:7077"]
)
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


@pytest.fixture
def packed(monkeypatch, tmp_path):
    """No packages are packed for workers yet."""
    monkeypatch.setattr(worker_packages, "ARCHIVE", tmp_path / "packages.tar.gz")
    monkeypatch.setattr(worker_packages, "LIST", tmp_path / "packages.txt")
    return worker_packages.pack


def test_packages_for_workers_are_packed_with_what_they_need(packed, tmp_path, monkeypatch):
    assert worker_packages.settings_of_archive() == {}
    assert worker_packages.python_of_workers() == sys.executable
    monkeypatch.setattr(worker_packages, "NEEDED", ("jiter",))
    names = [text.partition("==")[0] for text in packed(["python-dateutil"])]
    assert names == ["jiter", "python-dateutil", "six"]
    folder = tmp_path / "unpacked"
    shutil.unpack_archive(worker_packages.ARCHIVE, folder)
    command = [sys.executable, "-S", "-c", "import dateutil, jiter; print(dateutil.__file__)"]
    alone = {"PYTHONPATH": str(folder)}
    assert subprocess.check_output(command, env=alone, text=True).startswith(str(folder))
    values = worker_packages.settings_of_archive()
    assert values["spark.archives"].endswith(f"packages.tar.gz#{worker_packages.UNPACKED}")
    assert re.fullmatch(r"python3\.\d+", worker_packages.python_of_workers())


def test_packages_of_another_version_are_named(packed, monkeypatch):
    monkeypatch.setattr(worker_packages, "NEEDED", ("jiter",))
    with pytest.raises(LakehouseError, match="no-such-package is not installed here"):
        packed(["no-such-package"])
    packed()
    worker_packages.LIST.write_text("jiter==0.0.1\n")
    with pytest.raises(LakehouseError, match=r"has jiter==0.0.1 .* `lakehouse setup --cluster`"):
        worker_packages.settings_of_archive()


@pytest.mark.long
def test_a_command_whose_cluster_is_gone_ends(tmp_path):
    """Spark alone would wait for ever for an executor."""
    with Cluster() as cluster:
        project = Project(tmp_path, cluster.address)
        shutil.copytree(LANDING / "shop.orders", project.landing)
        command = [sys.executable, "-m", "cdc_lakehouse.console.cli", "ingest", "files"]
        run = {"cwd": PROJECT, "env": project.environment, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen([*command, project.landing], **run) as process:
            for line in process.stderr:
                if "of them new" in line:
                    break
            for name in WORKERS:
                cluster.kill(name)
            said = process.stderr.read()
    assert process.returncode == 2, said
    assert f"LAKEHOUSE_MASTER={cluster.address}: no executor has been there for 120 s" in said
