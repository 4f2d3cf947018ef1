"""`lakehouse serve`: SQL for other programs, other processes beside it, runs, and its end."""

import json
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Client
from pathlib import Path

import pytest
from broker import Broker
from commands import prepare
from conftest import copy_project
from directory import PEOPLE, directory
from laboratory import change, thing
from serving import PATIENCE, Served, beeline

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.java import find_java
from cdc_lakehouse.runtime.served import authenticate, join_served
from cdc_lakehouse.serve import news, thrift
from cdc_lakehouse.serve.clients import WriteLock

pytestmark = pytest.mark.full

FILE = "served.json"
SECRET = "a key of the hash for tests, 32 and more"
SOAK_SECONDS = int(os.environ.get("SERVE_SECONDS", "120"))


@pytest.fixture(scope="module")
def make_served(tmp_path_factory):
    """Return a function that makes a lakehouse that a test serves; none outlives the tests."""
    made = []

    def make():
        made.append(Served(tmp_path_factory.mktemp("serve"), LAKEHOUSE_HASH_KEY=SECRET))
        return made[-1]

    yield make
    for served in made:
        if served.process is not None:
            served.process.kill()


@pytest.fixture(scope="module")
def served(make_served):
    """A lakehouse that is served, and into which nothing comes by itself."""
    served = make_served()
    served.send("first", "second")
    served.lakehouse("run", "files", served.landing)
    served.start(options=("--json",))
    return served


def events(served):
    """Return what --json has told, a line each among what people read."""
    lines = served.log.read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def test_other_programs_ask_over_thrift(served):
    assert served.names() == ["first", "second"]
    assert served.ask("select count(*) from silver.row_changes") == [(2,)]
    assert served.ask("select topic, messages, rejected from silver.message_accounting") == [
        ("lab.things", 2, 0)
    ]


def test_beeline_asks(served):
    code, said = beeline(served.port, "select id, name from gold.things order by id")
    assert code == 0, said
    assert "id,name\n1,first\n2,second\n" in said


JAVA = "'java.lang.System', 'getenv', 'HOME'"
REFUSED = (
    f"select reflect({JAVA})",
    f"select system.builtin.java_method({JAVA})",
    f"select * from silver.row_changes where topic in (select try_reflect({JAVA}))",
    f"select identifier('reflect')({JAVA})",
    'execute immediate \'select reflect("java.lang.System", "getenv", "HOME")\'',
    "insert overwrite directory '{home}/out' using csv select 1",
    "insert overwrite local directory '{home}/out' using csv select 1",
    "load data local inpath '{secret}' into table gold.things",
    "create table gold.mine using text location '{home}'",
    "create table gold.mine (line string) using text options (path '{secret}')",
    "create schema mine location '{home}'",
    "create temporary view mine using text options (path '{secret}')",
    "select transform(topic) using 'cat' as line from silver.row_changes",
    "create temporary function mine as 'java.lang.String'",
    "create function gold.mine as 'java.lang.String'",
    "add jar {secret}",
    "add file {secret}",
    "list jars",
    "select * from table_changes_by_path('{tables}/silver.db/events', 0)",
    "select * from delta.`{tables}/silver.db/events`",
    "select * from text.`{secret}`",
    "describe detail '{tables}/silver.db/events'",
    "vacuum '{tables}/silver.db/events'",
    "alter table gold_storage.things set location '{home}'",
    "set spark.sql.runSQLOnFiles=true",
    "set",
    "begin select 1; end",
)
WRITES = (
    "create view gold.mine as select 1 as one",
    "create table gold.mine as select 1 as one",
    "delete from gold_storage.things",
    "drop view gold.things",
    "insert into gold_storage.things select * from gold_storage.things",
)


@pytest.fixture(scope="module")
def places(served):
    """Paths that statements name: among them a file that no statement may read."""
    secret = served.home / "secret.txt"
    secret.write_text("a secret\n")
    return {"home": served.home, "secret": secret, "tables": served.home / "warehouse"}


@pytest.mark.parametrize("sql", REFUSED)
def test_no_statement_reaches_java_or_a_path(served, places, sql):
    said = served.refusal(sql.format(**places))
    assert "Refused over Thrift: " in said, said
    assert not (served.home / "out").exists()


def test_no_setting_opens_a_path_or_the_environment(served):
    """Neither that of a connection's address nor the one that Spark has by default."""
    opened = {"spark.sql.runSQLOnFiles": "true", "spark.sql.variable.substitute": "true"}
    here = served.project / "secret.txt"  # beside which the server was started
    here.write_text("a secret\n")
    for path in (f"text.`{here.name}`", f"binaryFile.`{here.name}`"):
        assert "TABLE_OR_VIEW" in served.refusal(f"select * from {path}", configuration=opened)
    for name in ("env:HOME", "system:user.home", "spark.app.name"):
        [(text,)] = served.ask(f"select '${{{name}}}'", configuration=opened)
        assert text == f"${{{name}}}"


def test_java_has_no_key_and_functions_have_it(served):
    environments = list(served.environments())
    assert environments and not [each for each in environments if SECRET.encode() in each]
    assert len(served.ask("select pseudonym('ada')")[0][0]) == 64


def test_others_than_the_owner_read_only(served):
    assert served.ask("select count(*) from gold.things", username="ann")
    assert served.ask(
        "create temporary view own as select 1 as one", "select * from own", username="ann"
    ) == [(1,)]
    for sql in WRITES:
        assert "This session may only read" in served.refusal(sql, username="ann")
    served.ask("create table gold.mine as select 1 as one", "insert into gold.mine values (2)")
    assert served.ask("select sum(one) from gold.mine") == [(3,)]
    served.ask("drop table gold.mine")


def test_a_view_that_another_program_has_replaced_is_made_again(served):
    """So is one that was altered; a view that no release makes any more goes, a user's stays."""
    for sql in (
        "create or replace view gold.things as select 1 as id, 'wrong' as name",
        "alter view silver.row_changes as select * from silver.events where false",
        "create view silver.mine as select 1 as one",
        "create view silver.delivered_changes tblproperties ('cdc_lakehouse.definition' = 'x') "
        "as select 1 as one",
    ):
        served.lakehouse("query", sql)
    said = served.dbt("run")
    assert "gold.things is made again: it is not as a run of this project has left it" in said
    assert "silver.row_changes is made again" in said
    assert "silver.delivered_changes is dropped" in said
    assert served.names() == ["first", "second"]
    assert served.ask("select count(*) from silver.row_changes") == [(2,)]
    found = {row[1] for row in served.ask("show tables in silver")}
    assert "mine" in found and "delivered_changes" not in found
    assert "is made again" not in served.dbt("run")


@pytest.mark.long
def test_commands_beside_it_use_its_spark(served):
    """So none of them waits for a Java of its own, and none is refused."""
    sql = "select name from gold.things order by id"
    assert served.lakehouse("query", sql, "--csv") == "name\nfirst\nsecond\n"
    assert re.search(r"^gold\.things +2 ", served.lakehouse("show"), re.MULTILINE)
    served.send("third")
    served.lakehouse("ingest", "files", served.landing)
    served.dbt("build", "--exclude-resource-type", "unit_test")
    assert served.names() == ["first", "second", "third"]
    assert served.javas() == 1


@pytest.mark.long
def test_lakehouse_run_beside_it_lands_and_builds(served):
    served.send("fourth")
    assert "1 topics, 1 messages" in served.lakehouse("run", "files", served.landing)
    assert served.names()[-1] == "fourth"


@pytest.mark.long
def test_maintenance_waits_for_writers(served):
    assert "gold_storage.things" in served.lakehouse("maintain")


def test_an_erasure_is_refused_by_name(served):
    key = ("--key", "id=1")
    said = served.lakehouse("erase", "lab.things", *key, code=2)
    assert re.search(r"is in use by process \d+ \(.* serve\)\. An erasure needs", said), said


def test_a_second_serve_is_refused(served):
    said = served.lakehouse("serve", "--port", "0", "--http-port", "0", code=2)
    assert re.search(r"is in use by process \d+ \(.* serve\)\.", said), said


def test_another_project_is_refused(served, tmp_path):
    other = copy_project(tmp_path / "other", prepare)
    said = served.lakehouse("query", "select 1", "--project-dir", other, code=2)
    assert f"is served for the project {served.project}, and this is {other}." in said


def _waiting(page):
    """Return how many messages wait for silver, as the report tells it."""
    code, text = page
    assert code == 200, text
    held = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', text)[1])
    partitions = held["facts"][list(held["columns"]["Facts"]).index("partitions")]
    place = held["columns"]["Partition"].index("unprocessed")
    return sum(partition[place] for partition in partitions)


def test_health_and_figures(served):
    assert served.page("/health") == (200, "alive\n")
    assert served.page("/ready") == (200, "ready\n")
    assert served.page("/other")[0] == 404
    figures = served.figures()
    assert figures["lakehouse_messages", "lab.things"] == served.sent
    assert figures["lakehouse_unprocessed_messages", "lab.things"] == 0
    assert figures["lakehouse_rejected_messages", "lab.things"] == 0
    assert figures["lakehouse_rows", "things"] == served.sent
    served.send("late")
    served.lakehouse("ingest", "files", served.landing)
    assert served.figures()["lakehouse_unprocessed_messages", "lab.things"] == 1
    assert _waiting(served.page("/")) == 1
    served.dbt("run")
    assert _waiting(served.page("/")) == 0
    assert served.figures()["lakehouse_unprocessed_messages", "lab.things"] == 0


@pytest.mark.long
def test_a_process_that_is_killed_loses_its_lock_and_nothing_half_done(served):
    served.send("before the kill")
    served.lakehouse("ingest", "files", served.landing)
    with served.begin_dbt("run") as killed:
        for line in killed.stdout:
            if "START sql" in line and "silver.events" in line:
                break
        killed.kill()
    served.dbt("build", "--exclude-resource-type", "unit_test")
    assert served.names()[-1] == "before the kill"
    assert len(served.names()) == served.sent


def test_programs_without_the_key_are_not_heard(served):
    known = json.loads((served.home / FILE).read_text())
    for said in (b"", b"GET / HTTP/1.1\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", known["port"])) as other:
            other.sendall(said)
            assert served.lakehouse("query", "select 1 as one", "--csv") == "one\n1\n"
    assert authenticate(Client(("127.0.0.1", known["port"])), b"guessed", is_server=False) is False


def test_it_ends_with_sigterm_and_lets_others_in(served):
    assert served.end() == 0
    assert "SIGTERM: ends after the commit at work" in served.log.read_text()
    assert [event["event"] for event in events(served)] == ["ready", "end"]
    assert not (served.home / FILE).exists()
    said = served.lakehouse("query", "select count(*) as n from gold.things", "--csv")
    assert said == f"n\n{served.sent}\n"


@pytest.mark.long
def test_it_lands_and_builds_by_itself(make_served, tmp_path):
    served = make_served()
    served.send("first")
    served.start("files", served.landing, "--every", "1s", "--json")
    done = ("lakehouse_runs_total", "done")
    served.wait(lambda: served.figures()[done] >= 1)
    assert served.names() == ["first"]
    ready, run = events(served)[:2]
    assert (ready["event"], run["event"], run["exit_code"]) == ("ready", "run", 0)
    assert run["ingest"]["landed"] == [
        {"topic": "lab.things", "format": "dts_canal", "messages": 1}
    ]
    assert "things" in {node["name"] for node in run["nodes"]}
    served.send("second")
    served.wait(lambda: served.names() == ["first", "second"])
    # It tells of a landing folder that is gone, and goes on when it is there again.
    served.landing.rename(tmp_path / "gone")
    served.wait(lambda: served.figures()["lakehouse_runs_total", "failed"] >= 1)
    assert f"{served.landing} does not exist." in served.log.read_text()
    failed = [event for event in events(served) if event.get("exit_code") == 2]
    assert f"{served.landing} does not exist." in failed[0]["error"]
    (tmp_path / "gone").rename(served.landing)
    served.send("third")
    served.wait(lambda: served.names()[-1] == "third")
    # What was killed has left its address behind, which keeps nobody out.
    served.end(signal.SIGKILL)
    assert (served.home / FILE).exists()
    assert served.lakehouse("query", "select max(id) as id from gold.things", "--csv") == "id\n3\n"


@pytest.mark.long
def test_ten_readers_see_whole_commits_beside_runs_and_kills(make_served):
    """Things are inserted in the order of their ids, so that each commit has the first ones."""
    served = make_served()
    served.send("first")
    served.start("files", served.landing, "--every", "1s")
    served.wait(lambda: served.figures().get(("lakehouse_rows", "things")) == 1)
    until, done = time.monotonic() + SOAK_SECONDS, threading.Event()

    def read():
        seen = [1]
        while seen[-1] != served.sent or not done.is_set():
            sql = "select count(*), max(id), count(distinct name) from gold.things"
            [(things, last, names)] = served.ask(sql)
            assert things == last == names >= seen[-1]
            seen.append(things)
        return seen

    with ThreadPoolExecutor(10) as pool:
        readers = [pool.submit(read) for _ in range(10)]
        while time.monotonic() < until:
            served.send(*(f"{served.sent} and {n}" for n in range(5)))
            beside = served.begin_dbt("build", "--exclude-resource-type", "unit_test")
            time.sleep(random.uniform(2, 20))
            beside.kill()
            beside.wait()
        served.wait(lambda: len(served.names()) == served.sent)
        done.set()
        assert {reader.result()[-1] for reader in readers} == {served.sent}
    assert served.figures()["lakehouse_runs_total", "failed"] == 0
    assert served.end() == 0
    ended = time.monotonic()
    while served.javas():  # Java ends a moment later
        assert time.monotonic() < ended + PATIENCE
        time.sleep(0.2)


@pytest.mark.long
def test_it_lands_what_is_new_at_once(make_served):
    served = make_served()
    served.send("first")
    served.start("files", served.landing, "--on-new-data")
    done = ("lakehouse_runs_total", "done")
    served.wait(lambda: served.figures()[done] == 1)
    time.sleep(5)
    assert served.figures()[done] == 1
    served.send("second")
    served.wait(lambda: served.names() == ["first", "second"])
    assert served.end() == 0
    # Another process lands, and this one builds.
    served.start("--on-new-data")
    served.send("third")
    served.lakehouse("ingest", "files", served.landing)
    served.wait(lambda: len(served.names()) == 3)
    assert served.end() == 0


def test_news_are_what_the_source_has_not_had(monkeypatch):
    source, asked, clock = ["a", "a", "b", LakehouseError("away"), "b", "c"], [], [0.0]

    def look(spark):
        asked.append(clock[0])
        found = source[len(asked) - 1]
        if isinstance(found, LakehouseError):
            raise found
        clock[0] += 0.5
        return found

    monkeypatch.setattr(news.time, "monotonic", lambda: clock[0])
    found = news.News(None, look)
    said = []
    for _ in range(6):
        said.append(found.have_come())
        assert not found.have_come()
        clock[0] += 5
    assert said == [True, False, True, False, False, True]


@pytest.mark.long
def test_it_lands_from_kafka(make_served, tmp_path):
    broker, served = Broker(tmp_path), make_served()
    try:
        messages = [json.dumps(change("INSERT", n, thing(n, f"{n}"))).encode() for n in (1, 2)]
        broker.make_topic("lab.things", messages=messages[:1])
        source = ("kafka", "--bootstrap-servers", broker.plain, "--subscribe", "lab.things")
        served.start("--on-new-data", *source)
        served.wait(lambda: served.figures().get(("lakehouse_rows", "things")) == 1)
        broker.produce("lab.things", messages[1])
        served.wait(lambda: served.figures()["lakehouse_rows", "things"] == 2)
        assert served.names() == ["1", "2"]
        assert served.end() == 0
    finally:
        broker.stop()


def test_another_program_at_the_port_is_none_that_serves(tmp_path, monkeypatch):
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path))
    monkeypatch.setattr("cdc_lakehouse.runtime.served.ANSWER_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as other:
        text = json.dumps({"port": other.getsockname()[1], "key": "00"})
        (tmp_path / FILE).write_text(text)
        assert join_served() is None


@pytest.mark.long
def test_other_machines_need_a_password_and_tls(make_served, tmp_path):
    store, word = tmp_path / "store.p12", "of-the-keystore"
    key = ["-genkeypair", "-alias", "lake", "-keyalg", "RSA", "-dname", "CN=127.0.0.1"]
    key += ["-keystore", store, "-storepass", word, "-storetype", "PKCS12"]
    key += ["-ext", "san=ip:127.0.0.1"]
    subprocess.run([Path(find_java()).with_name("keytool"), *key], check=True, capture_output=True)
    served, sql = make_served(), "select 40 + 2 as answer"
    with directory(tmp_path) as ldap:
        options = {
            "authentication": "LDAP",
            "authentication.ldap.url": ldap,
            "authentication.ldap.baseDN": PEOPLE,
            "use.SSL": "true",
            "keystore.path": store,
            "keystore.password": word,
        }
        lines = [f"hive.server2.{name}={value}\n" for name, value in options.items()]
        (tmp_path / "thrift.properties").write_text("".join(lines))
        served.start(
            options=("--host", "0.0.0.0", "--options-file", tmp_path / "thrift.properties")
        )
        tls = f";ssl=true;sslTrustStore={store};trustStorePassword={word}"
        code, said = beeline(served.port, sql, "-n", "ann", "-p", "s3cret-of-ann", more=tls)
        assert code == 0 and "answer\n42\n" in said, said
        for person, password, more in (
            ("ann", "guessed", tls),
            ("ann", "", tls),
            ("nobody", "s3cret-of-ann", tls),
            ("ann", "s3cret-of-ann", ""),
        ):
            code, said = beeline(served.port, sql, "-n", person, "-p", password, more=more)
            assert code != 0 and "answer" not in said, said
    assert served.end() == 0
    written = (path for path in served.home.rglob("*") if path.is_file())
    assert not [path for path in written if word.encode() in path.read_bytes()]


def test_one_writer_at_a_time():
    begun = []
    lock = WriteLock(lambda: begun.append(1))
    assert lock.try_acquire("one") == ""
    assert lock.try_acquire("two") == "one"
    lock.release()
    assert lock.try_acquire("two") == ""
    assert len(begun) == 2


KEYSTORE = "hive.server2.use.SSL=true\nhive.server2.keystore.path={path}\n"


@pytest.mark.parametrize(
    ("host", "text", "said"),
    [
        ("127.0.0.1", "", None),
        ("localhost", "", None),
        ("0.0.0.0", "", "It needs hive.server2.authentication (LDAP, CUSTOM, PAM, KERBEROS) and "),
        ("0.0.0.0", "hive.server2.authentication=LDAP\n", "It needs hive.server2.use.SSL=true"),
        (
            "0.0.0.0",
            KEYSTORE + "hive.server2.keystore.password=x\n",
            "It needs hive.server2.authentication (LDAP",
        ),
        (
            "0.0.0.0",
            KEYSTORE + "hive.server2.keystore.password=x\nhive.server2.authentication=LDAP\n",
            None,
        ),
        ("127.0.0.1", KEYSTORE, "needs hive.server2.keystore.password"),
        ("127.0.0.1", "hive.server2.authentication=ANYBODY\n", "is none that Spark's Thrift"),
    ],
)
def test_who_is_let_in(host, text, said, tmp_path):
    (tmp_path / "store").write_bytes(b"")
    (tmp_path / "options").write_text(text.format(path=tmp_path / "store"))
    options = thrift.read_options(str(tmp_path / "options"))
    if said is None:
        thrift.check_safe(host, options)
    else:
        with pytest.raises(LakehouseError, match=re.escape(said)):
            thrift.check_safe(host, options)


def test_options_are_those_of_the_thrift_server(tmp_path):
    options = tmp_path / "options"
    options.write_text("# ours\n\nhive.server2.idle.session.timeout = 1h\n")
    assert thrift.read_options(str(options)) == {"hive.server2.idle.session.timeout": "1h"}
    for line in ("hive.server2.thrift.port=1", "spark.sql.ansi.enabled=false", "nothing"):
        options.write_text(f"\n{line}\n")
        with pytest.raises(LakehouseError, match=f"{options}, line 2: an option is hive.server2"):
            thrift.read_options(str(options))
    with pytest.raises(LakehouseError, match="cannot be read: No such file"):
        thrift.read_options(str(tmp_path / "none"))


def test_an_address_that_is_taken_is_named(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LakehouseError, match=f"127.0.0.1:{port}: .*Choose another port"):
            thrift.check_free("127.0.0.1", port, "--port")
