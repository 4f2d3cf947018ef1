"""A lakehouse that a test serves, and what is asked of it."""

import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pyspark
from broker import _free_ports
from commands import Commands
from prometheus_client.parser import text_string_to_metric_families
from pyhive import hive

from cdc_lakehouse.runtime.java import find_java

PATIENCE = 300  # seconds until a test that waits gives up


class Served(Commands):
    """A lakehouse of lab.things with the commands that a user types beside its `serve`."""

    def __init__(self, home, **given):
        super().__init__(home, **given)
        self.port, self.http = _free_ports(2)
        self.log, self.process = home / "serve.log", None

    def start(self, *source, options=()):
        """Type `lakehouse serve`, and wait until it is ready."""
        self.begin_serving(*options, *source)
        self.wait(lambda: self.page("/ready")[0] == 200)

    def begin_serving(self, *arguments):
        """Type `lakehouse serve`."""
        ports = ("--port", str(self.port), "--http-port", str(self.http))
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command("serve", *ports, *arguments),
                cwd=self.project,
                env=self.environment,
                stdout=log,
                stderr=log,
            )

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def wait(self, is_so):
        """Wait until something is so, while the process is there."""
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.2)

    def page(self, path):
        """Return the status of a page and its text; 0 if nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}") as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def figures(self):
        """Return the figures by their names and labels."""
        status, text = self.page("/metrics")
        assert status == 200, text
        samples = [s for family in text_string_to_metric_families(text) for s in family.samples]
        return {(sample.name, *sample.labels.values()): sample.value for sample in samples}

    def ask(self, *statements, **connection):
        """Return the rows of the last statement over Thrift, as PyHive gets them."""
        connected = hive.connect("127.0.0.1", self.port, **connection)
        try:
            cursor = connected.cursor()
            for sql in statements:
                cursor.execute(sql)
            return cursor.fetchall() if cursor.description else []
        finally:
            connected.close()

    def refusal(self, *statements, **connection):
        """Return what is said of statements over Thrift of which the last is refused."""
        try:
            rows = self.ask(*statements, **connection)
        except hive.OperationalError as error:
            return str(error.args[0].status.errorMessage)
        raise AssertionError(f"{statements} gave {rows}")

    def names(self):
        return [name for (name,) in self.ask("select name from gold.things order by id")]

    def environments(self):
        """What each Java that uses this lakehouse has as its environment."""
        for path in _commands():
            command = path.read_bytes()
            if b"SparkSubmit" in command and str(self.home).encode() in command:
                yield path.with_name("environ").read_bytes()

    def javas(self):
        """The number of Java processes that use this lakehouse."""
        commands = (path.read_bytes() for path in _commands())
        return sum(b"SparkSubmit" in c and str(self.home).encode() in c for c in commands)


def _commands():
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        if path.exists():
            yield path


def beeline(port, sql, *options, more=""):
    """Ask with beeline; return its exit code and all that it said."""
    classes = f"{Path(pyspark.__file__).parent / 'jars'}/*"
    command = [find_java(), "-cp", classes, "org.apache.hive.beeline.BeeLine", *options]
    command += ["-u", f"jdbc:hive2://127.0.0.1:{port}/default{more}", "--outputformat=csv2"]
    done = subprocess.run([*command, "-e", sql], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr
