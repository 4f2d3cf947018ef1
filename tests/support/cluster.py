"""A real Spark standalone cluster on loopback: a master and two workers, each a process."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyspark
from broker import _free_ports

from cdc_lakehouse.runtime import worker_packages

SPARK = Path(pyspark.__file__).parent
READY = re.compile("New state: ALIVE|Recovery complete|Successfully registered with master")
# A master that is started again knows workers and applications by what it has written.
RECOVERY = "-Dspark.deploy.recoveryMode=FILESYSTEM -Dspark.deploy.recoveryDirectory="
# Where the Python lies that the environment of the tests was made with, without its packages.
PATH = f"{sys.base_prefix}/bin:/usr/bin:/bin"
MASTER, WORKERS = "master", ("worker-1", "worker-2")


class Cluster:
    """A master and two workers of two cores and 2 GB each, while it is entered.

    Args:
        apart: whether workers can read no folder of the commands, nor packages of their Python.
            They are then another user's, if the tests are root's and he can read Spark.
        environment: what the workers have in theirs, such as credentials.
    """

    def __init__(self, apart=False, environment=()):
        self.apart, self.environment = apart, dict(environment)
        self.home = Path(tempfile.mkdtemp(prefix="cluster-"))
        self.home.chmod(0o755)
        self.port, self.processes = _free_ports(1)[0], {}
        self.address = f"spark://127.0.0.1:{self.port}"

    def __enter__(self):
        for name in (MASTER, *WORKERS):
            self.start(name)
        return self

    def __exit__(self, *error):
        for name in list(self.processes):
            self.kill(name)
        shutil.rmtree(self.home)

    def work_dir(self, name):
        return self.home / name

    def start(self, name):
        """Start a process, and wait until it is ready."""
        folder = self.home / name
        folder.mkdir(exist_ok=True)
        (folder / "log").write_text("")
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        options = {"SPARK_HOME": SPARK, "SPARK_LOCAL_IP": "127.0.0.1"}
        options |= {"SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_DIRS": folder}
        recovery = f"{RECOVERY}{self.home / 'recovery'}"
        options["SPARK_DAEMON_JAVA_OPTS"] = f"-Dspark.master.rest.enabled=false {recovery}"
        user = None
        if self.apart and name != MASTER:
            environment = {"PATH": PATH, "HOME": folder}
            options |= self.environment
            if user := _other_user():
                shutil.chown(folder, user)
                shutil.chown(folder / "log", user)
        with open(folder / "log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                [SPARK / "bin" / "spark-class", *map(str, self._command(name, folder))],
                cwd=folder,
                env=environment | {name: str(value) for name, value in options.items()},
                start_new_session=True,
                user=user,
                stdout=log,
                stderr=log,
            )
        while READY.search(said := (folder / "log").read_text()) is None:
            assert self.processes[name].poll() is None, said
            time.sleep(0.1)

    def kill(self, name):
        """Kill a process with all that it has started."""
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _command(self, name, folder):
        where = ("--host", "127.0.0.1", "--webui-port", "0")
        if name == MASTER:
            return ("org.apache.spark.deploy.master.Master", "--port", self.port, *where)
        size = ("--cores", 2, "--memory", "2g", "--work-dir", folder)
        return ("org.apache.spark.deploy.worker.Worker", *size, *where, self.address)


def _other_user():
    """Return a user who can read Spark, and none of the folders of the tests; None without one."""
    if os.getuid() != 0:
        return None
    needed = f"test -r '{SPARK}/jars' && {worker_packages.PYTHON} -c pass && java -version"
    seen = subprocess.run(
        ["sh", "-c", needed], user="nobody", cwd="/", env={"PATH": PATH}, capture_output=True
    )
    return None if seen.returncode else "nobody"
