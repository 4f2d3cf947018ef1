"""What a user types on a small lakehouse, each command a process of its own."""

import json
import os
import subprocess
import sys

from conftest import copy_project
from encoders.project import remove_gold
from laboratory import change, thing, write_models
from shop import write_messages


def prepare(project):
    """Let a copy of the project have one gold model, of lab.things."""
    remove_gold(project)
    write_models(project)


def environment(**given):
    """Return the environment of a command that a user types.

    A test that runs Spark in this process has named the Python of its workers in it.
    """
    ours = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    return ours | {name: str(value) for name, value in given.items()}


class Commands:
    """A project and a lakehouse, of lab.things if nothing is said, with commands of a user."""

    def __init__(self, home, change=prepare, **given):
        self.home, self.landing, self.sent = home / "lake", home / "landing", 0
        self.landing.mkdir()
        self.project = copy_project(home / "project", change)
        names = {"LAKEHOUSE_DIR": self.home, "DBT_USE_COLORS": "false", "LAKEHOUSE_MEMORY": "1g"}
        names |= {"DBT_TARGET_PATH": home / "target", "DBT_LOG_PATH": home / "logs"} | given
        self.environment = environment(**names)

    def send(self, *names):
        """Let a message arrive for each name of a thing, all in one file."""
        rows = []
        for name in names:
            message = change("INSERT", self.sent + 1, thing(self.sent + 1, name))
            rows.append(("lab.things", 0, self.sent, json.dumps(message).encode()))
            self.sent += 1
        self.arrive(f"{self.sent}.parquet", rows)

    def arrive(self, name, rows):
        """Let a file arrive, whole at once: it may be looked at meanwhile."""
        whole = self.home.with_name(name)
        write_messages(whole, rows)
        whole.rename(self.landing / name)

    def run(self, *command, code=0):
        """Run a command and return what it said."""
        done = subprocess.run(
            command, cwd=self.project, env=self.environment, capture_output=True, text=True
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def lakehouse(self, *arguments, code=0):
        return self.run(*self.command(*arguments), code=code)

    def names(self):
        """Return the names of the things in gold."""
        query = "select name from gold.things order by id"
        return self.lakehouse("query", query, "--csv").splitlines()[1:]

    def dbt(self, *arguments, code=0):
        return self.run(sys.executable, "-m", "dbt.cli.main", *arguments, code=code)

    def begin_dbt(self, *arguments):
        """Begin a dbt command, whose output is read line by line."""
        return self.begin(sys.executable, "-m", "dbt.cli.main", *arguments)

    def begin(self, *command):
        run = {"cwd": self.project, "env": self.environment, "text": True}
        return subprocess.Popen(command, stdout=subprocess.PIPE, **run)

    def command(self, *arguments):
        return (sys.executable, "-m", "cdc_lakehouse.console.cli", *map(str, arguments))
