"""`lakehouse run`: what it lands and builds, and what it says where that is not all."""

import json
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from types import SimpleNamespace

import pytest
from encoders.project import remove_gold
from laboratory import change, thing, write_models
from shop import write_messages

from cdc_lakehouse.console import run
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.ingest.delivered import bytes_to_land

pytestmark = pytest.mark.full

BROKEN = "models/gold/lab/broken.sql"


class Shop:
    """A lakehouse of lab.things, and its landing folder."""

    def __init__(self, lakehouse, landing):
        self.lakehouse, self.landing, self.sent = lakehouse, landing, 0

    def send(self, name):
        """Let a message of a thing with this name arrive."""
        message = change("INSERT", self.sent + 1, thing(self.sent + 1, name))
        row = ("lab.things", 0, self.sent, json.dumps(message).encode())
        write_messages(self.landing / f"{self.sent}.parquet", [row])
        self.sent += 1

    def run(self, *options, name):
        """Let a message arrive and type the command; return its exit code and its output."""
        self.send(name)
        code, out, _ = self.lakehouse.command("run", "files", str(self.landing), *options)
        return code, out

    def type(self, *arguments):
        """Type any command where no dbt is at work; return exit code, output and errors."""
        return self.lakehouse.process.submit(_type, arguments).result()

    def run_beside(self, path, text, name):
        """Do the same while a file is there."""
        path.write_text(text)
        try:
            return self.run(name=name)
        finally:
            path.unlink()

    def names(self):
        rows = self.lakehouse.query("select name from gold.things order by id")
        return [row["name"] for row in rows]

    def messages(self):
        return self.lakehouse.query("select count(*) as n from bronze.messages")[0]["n"]


def _type(arguments):
    """Run a command in the process of the lakehouse; return exit code, output and errors."""
    from cdc_lakehouse.console import cli
    from dbt.adapters.lakehouse import connections

    connections.root_session({})
    connections._held.close()  # as dbt does where it ends
    connections._held = None
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = cli.main(list(arguments))
    connections.hold_metastore()
    return code, out.getvalue(), err.getvalue()


def prepare(project):
    remove_gold(project)
    write_models(project)


@pytest.fixture(scope="module")
def shop(open_lakehouse, tmp_path_factory):
    return Shop(open_lakehouse("run", prepare), tmp_path_factory.mktemp("run-landing"))


def test_what_has_landed_is_built_tested_and_shown(shop):
    code, out = shop.run("--test", "--show", name="first")
    assert code == 0, out
    assert "1 topics, 1 messages" in out
    assert "PASS every_message_has_one_result" in out
    assert re.search(r"^gold\.things +1 ", out, re.MULTILINE)
    *_, blank, table, report, sql, own = out.splitlines()
    assert own == "Your own: lakehouse init ../NAME"
    assert (blank, table) == ("", "A table:  lakehouse show gold.things")
    for step in (table, report.removesuffix(" --open"), sql):  # each can be typed
        _, *typed = shlex.split(step.partition(":")[2])
        assert shop.type(*typed)[0] == 0
    assert shop.names() == ["first"]


def test_without_options_no_test_runs_and_nothing_is_shown(shop):
    code, out = shop.run(name="second")
    assert code == 0, out
    assert "every_message_has_one_result" not in out and "gold.things" not in out.split("Done. ")[1]
    assert shop.names() == ["first", "second"]


def test_a_seed_is_written_once_while_its_file_is_the_same(shop):
    assert len(shop.lakehouse.query("describe history silver.topics")) == 1


def test_each_part_leaves_its_timings(shop):
    code, out, _ = shop.lakehouse.command("timings", "--json")
    assert code == 0
    [ingest, build] = json.loads(out)  # nothing else is on standard output
    assert (ingest["command"], build["command"]) == ("ingest-files", "dbt-build")
    assert "appends messages" in {step["name"] for step in ingest["steps"]}
    assert {"events", "things"} <= {step["part"] for step in build["steps"]}


def test_a_program_is_told_what_landed_and_what_was_built(shop):
    shop.send("of a program")
    folder = str(shop.landing)
    code, out, err = shop.lakehouse.command("run", "files", folder, "--show", "--json")
    told = json.loads(out)
    assert (code, told["exit_code"], told["problem"]) == (0, 0, None)
    assert told["ingest"]["landed"] == [
        {"topic": "lab.things", "format": "dts_canal", "messages": 1}
    ]
    built = {node["name"]: node for node in told["nodes"]}
    assert (built["things"]["status"], built["things"]["resource_type"]) == ("success", "model")
    assert built["things"]["seconds"] > 0
    [table] = told["overview"]["gold"]
    assert (table["table"], table["rows"]) == ("gold.things", 3)
    assert "Completed successfully" in err and "A table:" in err  # for people


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["reroute"], {"rerouted": []}),
        (["replay", "--all"], {"replayed": [], "in_line": 0, "gone": 0}),
        (
            ["expire", "--older-than", "400 days", "--dry-run"],
            {"messages": 0, "rejected": 0, "completed": 0, "is_dry_run": True},
        ),
        (["add-table", "--all"], {"models": [], "not_added": []}),
        (["query", "select 1 as one"], {"rows": [[1]], "is_complete": True}),
        (["show", "gold.things", "--rows", "1"], {"is_complete": False}),
        (["replay", "--reason", "no_such"], {}),
        (["erase", "no.table", "--key", "id=1"], {}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_each_command_tells_a_program_one_document(shop, arguments, told):
    code, out, err = shop.type(*arguments, "--json")
    document = json.loads(out)
    assert (code, "error" in document) == ((0, False) if told else (2, True)), err
    assert {name: document[name] for name in told} == told


def test_a_file_that_cannot_land_stops_nothing_else(shop):
    left = shop.landing / "notes.pdf"
    code, out = shop.run_beside(left, "no messages", "third")
    assert code == 1
    assert str(left) in out
    assert shop.names() == ["first", "second", "of a program", "third"]


def test_a_model_that_fails_stops_no_other(shop):
    broken = "{{ config(materialized='table') }} select raise_error('no') as x"
    code, out = shop.run_beside(shop.lakehouse.project / BROKEN, broken, "fourth")
    assert code == 1
    assert "ERROR creating sql table model gold.broken" in out
    assert shop.names()[-1] == "fourth"


def test_messages_land_where_dbt_cannot_read_the_project(shop):
    broken = "select * from {{ ref('a_model_that_is_not_there') }}"
    code, out = shop.run_beside(shop.lakehouse.project / BROKEN, broken, "fifth")
    assert code == 1
    assert "a_model_that_is_not_there" in out and "Nothing was built" in out
    assert (shop.messages(), shop.names()[-1]) == (6, "fourth")
    assert shop.run(name="sixth")[0] == 0
    assert shop.names()[-2:] == ["fifth", "sixth"]


@pytest.mark.long
def test_messages_land_while_another_dbt_uses_the_tables(shop):
    shop.send("seventh")
    command = [sys.executable, "-m", "cdc_lakehouse.console.cli", "run", "files", shop.landing]
    home = shop.lakehouse.home
    environment = os.environ | {"LAKEHOUSE_DIR": str(home), "DBT_TARGET_PATH": str(home / "other")}
    done = subprocess.run(
        command, cwd=shop.lakehouse.project, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stderr
    assert "1 topics, 1 messages" in done.stdout
    assert f"Nothing was built: {home} is in use by process " in done.stdout
    assert (shop.messages(), shop.names()[-1]) == (8, "sixth")


def test_a_landing_folder_that_is_not_there_is_named(shop, tmp_path):
    code, _, err = shop.lakehouse.command("run", "files", str(tmp_path / "gone"))
    assert code == 2
    assert err == f"lakehouse: {tmp_path}/gone does not exist. Name a folder or a file to land.\n"


def test_a_spark_elsewhere_is_refused(monkeypatch):
    credentials = SimpleNamespace(method="thrift")
    adapter = SimpleNamespace(config=SimpleNamespace(credentials=credentials))
    monkeypatch.setattr(run, "get_adapter_by_type", lambda name: adapter)
    with pytest.raises(LakehouseError, match="The profile says method: thrift"):
        run.start_spark(is_long=False)


def test_files_count_as_new_from_the_last_ingest_on(tmp_path, monkeypatch):
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path / "lake"))
    landing = tmp_path / "landing"
    landing.mkdir()
    (landing / "a.parquet").write_bytes(bytes(100))
    (landing / "b.json").write_bytes(bytes(800))
    (landing / "c.jsonl.gz").write_bytes(bytes(10))
    (landing / "notes.pdf").write_bytes(bytes(5000))
    assert bytes_to_land(landing) == 100 + 800 // 8 + 10

    commit = tmp_path / "lake" / "warehouse" / "bronze.db" / "landed_files" / "_delta_log"
    commit.mkdir(parents=True)
    commit /= f"{0:020}.json"
    commit.write_text("")
    os.utime(landing / "c.jsonl.gz", (2_000_000_000, 2_000_000_000))
    assert bytes_to_land(landing) == 10


def test_a_seed_has_the_rows_of_its_file_again_in_one_commit(shop):
    """More commits would let a kill leave one without rows, and topics without their time zones."""

    def seed(*options):
        shop.lakehouse.dbt("seed", *options)
        rows = shop.lakehouse.query("select topic from silver.topics order by topic")
        commits = len(shop.lakehouse.query("describe history silver.topics"))
        return [row["topic"] for row in rows], commits

    before, commits = seed()
    topics = shop.lakehouse.project / "seeds" / "topics.csv"
    topics.write_text(topics.read_text() + "zz.further,dts_canal,,,,\n")
    assert seed() == ([*before, "zz.further"], commits + 1)
    shop.lakehouse.query("delete from silver.topics where topic = 'zz.further'")
    assert seed() == ([*before, "zz.further"], commits + 3)
    assert seed("--full-refresh") == ([*before, "zz.further"], commits + 4)
