"""A Spark that the first command of a terminal leaves for the next ones, and when it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from commands import Commands

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime import kept, served

PATIENCE = 60  # seconds until a test that waits gives up
QUERY = ("query", "select name from gold.things order by id", "--csv")
STAYS = "lakehouse: Spark stays for 10 idle minutes, for the next commands; "


def is_there(process):
    """Whether a process is there; one that has ended waits for nobody."""
    try:
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False


def wait_until_gone(process):
    deadline = time.monotonic() + PATIENCE
    while is_there(process):
        assert time.monotonic() < deadline
        time.sleep(0.1)


class Terminal(Commands):
    """Commands that are typed one after the other."""

    def kept(self):
        """The process that keeps a Spark."""
        known = json.loads((self.home / "served.json").read_text())["kept"]
        assert is_there(known["process"])
        return known["process"]

    def let(self, **given):
        self.environment |= given


@pytest.fixture(scope="module")
def terminal(tmp_path_factory):
    """A lakehouse of one thing, with no Spark that is kept."""
    terminal = Terminal(tmp_path_factory.mktemp("kept"), LAKEHOUSE_KEEP_WARM="10m")
    terminal.send("first")
    assert STAYS in terminal.lakehouse("run", "files", terminal.landing)
    terminal.lakehouse("stop")
    yield terminal
    terminal.lakehouse("stop")


@pytest.mark.full
def test_only_the_first_command_starts_a_spark(terminal):
    assert terminal.lakehouse(*QUERY).startswith("name\nfirst\n" + STAYS)
    process = terminal.kept()
    assert terminal.lakehouse(*QUERY) == "name\nfirst\n"
    terminal.send("second")
    said = terminal.lakehouse("run", "files", terminal.landing)
    assert "1 topics, 1 messages" in said and STAYS not in said
    terminal.dbt("run", "-s", "things")
    assert terminal.lakehouse(*QUERY) == "name\nfirst\nsecond\n"
    assert terminal.kept() == process


@pytest.mark.full
def test_other_surroundings_get_another(terminal):
    """What functions and Java read of the environment counts; what tells terminals apart, not."""
    terminal.lakehouse(*QUERY)
    process = terminal.kept()
    terminal.let(TERM_PROGRAM="other", LAKEHOUSE_KEEP_WARM="20m")
    terminal.lakehouse(*QUERY)
    assert terminal.kept() == process
    terminal.let(LAKEHOUSE_HASH_KEY="a key of the hash for tests, 32 and more")
    assert "Spark stays" in terminal.lakehouse(*QUERY)
    assert terminal.kept() != process and not is_there(process)


@pytest.mark.full
def test_it_ends_for_who_needs_the_tables_alone_unless_it_is_used(terminal, monkeypatch):
    terminal.lakehouse(*QUERY)
    process = terminal.kept()
    monkeypatch.chdir(terminal.project)
    for name, value in terminal.environment.items():
        monkeypatch.setenv(name, value)
    user = served.join_served()
    assert user is not None
    terminal.let(LAKEHOUSE_KEEP_WARM="off")
    said = terminal.lakehouse(*QUERY, code=2)
    assert f"is in use by process {process} (keeper.py keeps Spark)." in said
    assert terminal.lakehouse("stop", code=1) == "Spark is in use, and stays.\n"
    user.close()
    assert terminal.lakehouse(*QUERY).startswith("name\n")
    assert not is_there(process) and not (terminal.home / "served.json").exists()
    terminal.let(LAKEHOUSE_KEEP_WARM="10m")


@pytest.mark.full
def test_the_command_to_end_it_ends_it(terminal):
    terminal.lakehouse(*QUERY)
    process = terminal.kept()
    assert terminal.lakehouse("stop") == "Spark has ended.\n"
    assert not is_there(process)
    assert terminal.lakehouse("stop") == "No Spark is kept.\n"


@pytest.mark.full
def test_a_killed_one_stops_nobody(terminal):
    terminal.lakehouse(*QUERY)
    os.kill(terminal.kept(), signal.SIGKILL)
    assert STAYS in terminal.lakehouse(*QUERY)
    terminal.kept()


@pytest.mark.full
@pytest.mark.parametrize("ending", ["idle", "its terminal", "its folder"])
def test_it_ends_by_itself(terminal, ending):
    terminal.lakehouse("stop")
    terminal.let(LAKEHOUSE_KEEP_WARM="2s" if ending == "idle" else "10m")
    command = terminal.command(*QUERY)
    # A session of its own, as that of a terminal.
    run = {"cwd": terminal.project, "env": terminal.environment, "start_new_session": True}
    script = ["sh", "-c", '"$@"; read line', "sh", *command]
    with subprocess.Popen(script, stdin=subprocess.PIPE, **run):
        deadline = time.monotonic() + PATIENCE
        while not (terminal.home / "served.json").exists():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process = terminal.kept()
        if ending == "its folder":
            (terminal.home / "served.json").unlink()
        if ending != "its terminal":
            wait_until_gone(process)
    wait_until_gone(process)
    terminal.let(LAKEHOUSE_KEEP_WARM="10m")


@pytest.mark.parametrize(
    ("said", "seconds"), [("", 0), ("off", 0), ("OFF", 0), ("0", 0), ("90", 90), ("5m", 300)]
)
def test_nobody_keeps_one_unless_a_person_types_or_asks(monkeypatch, tmp_path, said, seconds):
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path))
    monkeypatch.setenv(kept.NAME, said)
    assert kept.idle_seconds() == seconds


def test_at_a_terminal_one_is_kept_but_in_ci_and_containers(monkeypatch, tmp_path):
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path))
    for name in (kept.NAME, "CI"):
        monkeypatch.delenv(name, raising=False)
    for name in ("stdin", "stderr"):
        monkeypatch.setattr(sys, name, SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(kept, "OF_CONTAINER", tmp_path / "none")
    assert kept.idle_seconds() == 600
    monkeypatch.setattr(kept, "OF_CONTAINER", tmp_path)
    assert kept.idle_seconds() == 0
    monkeypatch.setattr(kept, "OF_CONTAINER", tmp_path / "none")
    monkeypatch.setenv("CI", "true")
    assert kept.idle_seconds() == 0


def test_a_time_that_is_none_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path))
    monkeypatch.setenv(kept.NAME, "soon")
    with pytest.raises(LakehouseError, match="LAKEHOUSE_KEEP_WARM: 'soon' is no time such as 30s"):
        kept.idle_seconds()
