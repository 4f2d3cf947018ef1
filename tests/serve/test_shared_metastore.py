"""Several processes on one lakehouse: a real PostgreSQL, and a real Hive Metastore on it."""

import re
import signal
import threading

import pytest
from broker import _free_ports
from commands import Commands
from metastore import PASSWORD, USER, Postgres, hive_metastore

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.settings import settings
from cdc_lakehouse.runtime.shared_metastore import SharedMetastore, shared_metastore

pytestmark = pytest.mark.full

CONFLICT = re.compile(r"Another process has changed the table .* \(DELTA_\w+\)")


@pytest.fixture(scope="module")
def postgres():
    server = Postgres()
    yield server
    server.remove()


@pytest.fixture(scope="module")
def shared(postgres, tmp_path_factory):
    """A lakehouse whose metastore is a database of PostgreSQL, with two things."""
    login = {"LAKEHOUSE_METASTORE": postgres.address(), "PGUSER": USER, "PGPASSWORD": PASSWORD}
    commands = Commands(tmp_path_factory.mktemp("shared"), **login)
    commands.send("first", "second")
    commands.lakehouse("run", "files", commands.landing)
    return commands


@pytest.mark.parametrize(
    "given, found",
    [
        (
            "thrift://one:9083,thrift://two:9083",
            {"hive.metastore.uris": "thrift://one:9083,thrift://two:9083"},
        ),
        (
            "jdbc:postgresql://db/lake?user=ann&password=pw&sslmode=verify-full",
            {
                "javax.jdo.option.ConnectionURL": "jdbc:postgresql://db/lake?sslmode=verify-full",
                "javax.jdo.option.ConnectionDriverName": "org.postgresql.Driver",
                "javax.jdo.option.ConnectionUserName": "ann",
            },
        ),
    ],
)
def test_a_metastore_is_named_by_its_address(given, found, monkeypatch):
    monkeypatch.setenv("LAKEHOUSE_METASTORE", given)
    named = shared_metastore()
    assert named.settings == {f"spark.hadoop.{name}": value for name, value in found.items()}
    assert settings(metastore=True).items() >= named.settings.items()
    assert not settings(metastore=False).keys() & named.settings.keys()


def test_a_password_is_no_setting_and_in_no_address(monkeypatch):
    monkeypatch.setenv("LAKEHOUSE_METASTORE", "jdbc:postgresql://db:1/lake?password=s3cret")
    monkeypatch.setenv("PGUSER", "ann")
    named = shared_metastore()
    shown = (named.address, named.servers, settings(metastore=True))
    assert (named.password, "s3cret" in str(shown)) == ("s3cret", False)
    assert (named.address, named.servers) == ("jdbc:postgresql://db:1/lake", ("db:1",))
    monkeypatch.setenv("LAKEHOUSE_METASTORE", "jdbc:postgresql://db/lake")
    monkeypatch.setenv("PGPASSWORD", "other")
    assert (shared_metastore().password, shared_metastore().servers) == ("other", ("db:5432",))


@pytest.mark.parametrize(
    "given",
    ["db:5432", "thrift://one", "jdbc:mysql://db/lake?password=s3cret", "jdbc:postgresql://db:1/"],
)
def test_what_is_no_metastore_is_refused(given, monkeypatch):
    monkeypatch.setenv("LAKEHOUSE_METASTORE", given)
    with pytest.raises(LakehouseError, match="is no metastore to use") as refused:
        shared_metastore()
    assert "s3cret" not in str(refused.value)


def test_a_metastore_that_does_not_answer_is_named():
    (port,) = _free_ports(1)
    named = SharedMetastore("thrift://127.0.0.1:9", (f"127.0.0.1:{port}",), {})
    with pytest.raises(LakehouseError, match=f"nothing answers at 127.0.0.1:{port}"):
        named.check_reachable()


@pytest.mark.long
def test_others_ask_while_dbt_is_at_work(shared):
    shared.send("third")
    with shared.begin(*shared.command("run", "files", shared.landing)) as run:
        for line in run.stdout:
            if "START sql" in line:
                break
        assert shared.names()[:2] == ["first", "second"]
        run.stdout.read()
    assert run.returncode == 0
    assert shared.names() == ["first", "second", "third"]


@pytest.mark.long
def test_of_two_runs_at_once_each_commit_is_made_by_one(shared):
    """Who has lost says so; what it has not done the next run does."""
    shared.send("fourth", "fifth")
    shared.lakehouse("ingest", "files", shared.landing)
    runs = [shared.begin_dbt("run", "--target-path", f"{shared.home}/{n}") for n in (1, 2)]
    said = ["", ""]

    def listen(number):
        said[number] = runs[number].stdout.read()
        runs[number].wait()

    threads = [threading.Thread(target=listen, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 in {run.returncode for run in runs}, said
    for run, text in zip(runs, said, strict=True):
        assert run.returncode == 0 or CONFLICT.search(text), text
    shared.dbt("run")
    counted = "select (select count(*) from gold.things) as things, count(*) as events, "
    counted += "count(distinct offset) as different from silver.events"
    found = shared.lakehouse("query", counted, "--csv").splitlines()[1]
    assert found == ",".join([str(shared.sent)] * 3)


@pytest.mark.long
def test_who_was_killed_keeps_nobody_out(shared):
    shared.send("before the kill")
    shared.lakehouse("ingest", "files", shared.landing)
    with shared.begin_dbt("run") as killed:
        for line in killed.stdout:
            if "START sql" in line and "silver.events" in line:
                break
        killed.send_signal(signal.SIGKILL)
    shared.dbt("run")
    assert shared.names()[-1] == "before the kill"


@pytest.mark.long
def test_a_shared_lakehouse_is_opened_with_its_metastore_alone(shared, monkeypatch):
    address = shared.environment["LAKEHOUSE_METASTORE"]
    monkeypatch.setitem(shared.environment, "LAKEHOUSE_METASTORE", "")
    said = shared.lakehouse("query", "select 1", code=2)
    assert f"{shared.home} shares the metastore {address}: set LAKEHOUSE_METASTORE to it." in said


@pytest.mark.long
def test_a_wrong_password_is_refused_in_a_sentence(shared, monkeypatch):
    monkeypatch.setitem(shared.environment, "PGPASSWORD", "guessed")
    said = shared.lakehouse("query", "select 1", code=2)
    assert re.search(r"LAKEHOUSE_METASTORE=jdbc:\S+ refuses: .* password authentication", said)
    assert "guessed" not in said


@pytest.mark.long
def test_a_hive_metastore_may_be_killed_and_started_again(shared, postgres, tmp_path, monkeypatch):
    """It reads the tables that another process has made in the database."""
    (port,) = _free_ports(1)
    address = shared.environment["LAKEHOUSE_METASTORE"]
    monkeypatch.setitem(shared.environment, "LAKEHOUSE_METASTORE", f"thrift://127.0.0.1:{port}")
    shared.send("through thrift")
    with hive_metastore(address, tmp_path, port):
        shared.lakehouse("run", "files", shared.landing)
        assert shared.names()[-1] == "through thrift"
    said = shared.lakehouse("query", "select 1", code=2)
    assert f"LAKEHOUSE_METASTORE=thrift://127.0.0.1:{port}: nothing answers at" in said
    # Landing needs no metastore.
    shared.send("landed without it")
    assert "1 messages" in shared.lakehouse("ingest", "files", shared.landing)
    with hive_metastore(address, tmp_path, port):
        assert shared.names()[-1] == "through thrift"


@pytest.mark.long
def test_a_lakehouse_begins_to_share_a_metastore(postgres, tmp_path):
    """Its tables get their names there, and no run reads again what was read before."""
    commands = Commands(tmp_path)
    commands.send("first", "second")
    commands.lakehouse("run", "files", commands.landing)
    commits = len(list(commands.home.rglob("_delta_log/*.json")))
    address = f"{postgres.address()}?user={USER}&password={PASSWORD}"
    commands.environment["LAKEHOUSE_METASTORE"] = address
    commands.dbt("run")
    assert commands.names() == ["first", "second"]
    assert len(list(commands.home.rglob("_delta_log/*.json"))) == commits
