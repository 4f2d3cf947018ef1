"""What deploy/ gives to schedulers: each runs the pipeline with the real scheduler's package."""

import os
import re
import shlex
import subprocess
import sys

import pytest
from commands import Commands
from conftest import PROJECT

from cdc_lakehouse.console import cli

pytestmark = pytest.mark.full

DEPLOY = PROJECT / "deploy"
HOME = "/srv/cdc_lakehouse"
UNITS = ("lakehouse.service", "lakehouse.timer", "lakehouse-serve.service")
# Where the example for a project of `lakehouse init` has it.
SHOP = "/srv/shop"
RUN_ASSETS = """
import lakehouse
done = lakehouse.definitions.resolve_job_def("lakehouse").execute_in_process()
print(*sorted(e.asset_key.to_user_string() for e in done.get_asset_materialization_events()))
"""


def typed(text):
    """The arguments of the `lakehouse` commands in a unit or a line of cron."""
    for line in text.splitlines():
        if match := re.search(r"\.venv/bin/lakehouse (.*)", line):
            yield shlex.split(match[1].partition(" >>")[0])


@pytest.mark.parametrize(
    "name",
    [
        *("systemd/lakehouse.service", "systemd/lakehouse-serve.service"),
        *("cron/lakehouse.cron", "project/lakehouse.service"),
    ],
)
def test_the_commands_are_those_that_there_are(name):
    (arguments,) = typed((DEPLOY / name).read_text())
    options = cli._parser().parse_args(arguments)
    assert (arguments[0] in ("run", "serve"), options.path) == (True, "/srv/landing")


def moved(text, project):
    """A file of deploy/ for a project elsewhere."""
    text = text.replace(HOME, str(project)).replace(SHOP, str(project))
    return text.replace("User=lakehouse\n", "")


@pytest.mark.long
@pytest.mark.parametrize("folder", ["systemd", "project"])
def test_systemd_accepts_the_units(tmp_path, folder):
    for name in UNITS:
        of = folder if (DEPLOY / folder / name).exists() else "systemd"
        text = moved((DEPLOY / of / name).read_text(), PROJECT)
        (tmp_path / name).write_text(text.replace(f"{PROJECT}/.venv", sys.prefix))
    units = [str(tmp_path / name) for name in UNITS]
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def scheduled(tmp_path):
    """A lakehouse whose project has its programs where a scheduler calls them."""
    commands = Commands(tmp_path)
    (commands.project / ".venv").symlink_to(sys.prefix)
    names = {"LAKEHOUSE_PROJECT": commands.project, "LAKEHOUSE_LANDING": commands.landing}
    commands.environment |= {name: str(value) for name, value in names.items()}
    commands.send("first", "second")
    return commands


@pytest.mark.long
def test_cron_runs_the_pipeline_and_leaves_a_run_out(scheduled, tmp_path):
    *_, line = (DEPLOY / "cron" / "lakehouse.cron").read_text().splitlines()
    *times, user, command = line.split(maxsplit=6)
    assert (times, user) == (["*/5", "*", "*", "*", "*"], "lakehouse")
    lock, log = tmp_path / "lock", tmp_path / "log"
    command = moved(command, scheduled.project).replace("/tmp/lakehouse.lock", str(lock))
    command = command.replace("/srv/landing", str(scheduled.landing))
    command = command.replace("/var/log/lakehouse.log", str(log))
    scheduled.run("flock", str(lock), "sh", "-c", f"! ({command})")
    assert log.read_text() == ""
    scheduled.run("sh", "-c", command)
    assert scheduled.names() == ["first", "second"]


def environment_of(folder, home):
    """Make an environment with what a folder of deploy/ requires; return its programs."""
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    pip = [home / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--requirement", DEPLOY / folder / "requirements.txt"], check=True)
    return home / "bin"


@pytest.mark.long
def test_airflow_runs_the_dag(scheduled, tmp_path):
    programs = environment_of("airflow", tmp_path / "environment")
    scheduled.environment |= {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(DEPLOY / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__COSMOS__ENABLE_TELEMETRY": "False",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    scheduled.run(programs / "airflow", "db", "migrate")
    scheduled.run(programs / "airflow", "dags", "test", "lakehouse")
    assert scheduled.names() == ["first", "second"]


@pytest.mark.long
def test_dagster_makes_the_assets(scheduled, tmp_path):
    programs = environment_of("dagster", tmp_path / "environment")
    scheduled.environment |= {
        "PYTHONPATH": str(DEPLOY / "dagster"),
        "DAGSTER_HOME": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    scheduled.dbt("--quiet", "parse")
    said = scheduled.run(programs / "python", "-c", RUN_ASSETS)
    *_, made = (line for line in said.splitlines() if line.startswith("bronze/messages "))
    assert {"silver/events", "silver/topics", "gold/things"} <= set(made.split())
    assert scheduled.names() == ["first", "second"]
