"""A real PostgreSQL and a real Hive Metastore on loopback, for tests to start and stop."""

import io
import os
import platform
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pyspark
from broker import FLAGS, _answers, _free_ports

from cdc_lakehouse.runtime.jars import installed_jars, retrieve
from cdc_lakehouse.runtime.java import find_java

IVY_FILE = Path(__file__).with_name("postgres.ivy.xml")
FOLDER = Path(sys.prefix, "share", "cdc_lakehouse", "postgres")
MACHINE = "arm64v8" if platform.machine() in ("aarch64", "arm64") else "amd64"
USER, PASSWORD = "lake", f"s3cret-{uuid4().hex}"  # no file of the project has it
DATABASES = 6
SERVICE = "org.apache.hadoop.hive.metastore.HiveMetaStore"


def fetch_postgres():
    """Fetch the programs of the server, if they are not there."""
    if list(FOLDER.glob("*.jar")):
        return
    if reason := retrieve(IVY_FILE, FOLDER, f"-Dmachine={MACHINE}"):
        raise RuntimeError(f"PostgreSQL could not be fetched:\n{reason}")


class Postgres:
    """A server whose one user needs a password; each test has a database of its own."""

    def __init__(self):
        fetch_postgres()
        # PostgreSQL refuses to run as root, and another user sees little of root's folders.
        self.user = "nobody" if os.getuid() == 0 else None
        self.home = Path(tempfile.mkdtemp(prefix="postgres-"))
        with zipfile.ZipFile(next(FOLDER.glob("*.jar"))) as jar:
            name = next(name for name in jar.namelist() if name.endswith(".txz"))
            with tarfile.open(fileobj=io.BytesIO(jar.read(name)), mode="r:xz") as archive:
                # Python 3.11 has no filter before its fourth release.
                archive.extraction_filter = getattr(tarfile, "data_filter", None)
                archive.extractall(self.home)
        (self.home / "password").write_text(PASSWORD)
        if self.user:
            for path in (self.home, *self.home.iterdir()):
                shutil.chown(path, self.user)
        data, login = ("-D", self.home / "data"), ("-A", "scram-sha-256", "-U", USER)
        self._run("initdb", *data, *login, "--pwfile", self.home / "password", "-N").wait()
        self._databases = [f"lake_{number}" for number in range(DATABASES)]
        with self._run("postgres", "--single", *data, "postgres", stdin=subprocess.PIPE) as alone:
            alone.communicate("".join(f"create database {n};\n" for n in self._databases).encode())
        (self.port,) = _free_ports(1)
        self.start()

    def address(self):
        """Return the JDBC address of an empty database."""
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{self._databases.pop()}"

    def start(self):
        """Start, and wait until connections are taken."""
        listens = ("-h", "127.0.0.1", "-p", str(self.port), "-k", "", "-F")
        self.process = self._run("postgres", "-D", self.home / "data", *listens)
        while not _answers(f"127.0.0.1:{self.port}"):
            assert self.process.poll() is None, (self.home / "log").read_text()
            time.sleep(0.05)

    def stop(self):
        """Stop at once, with all connections."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()

    def remove(self):
        self.stop()
        shutil.rmtree(self.home)

    def _run(self, program, *arguments, **options):
        with open(self.home / "log", "ab") as log:
            return subprocess.Popen(
                [self.home / "bin" / program, *arguments],
                cwd=self.home,
                user=self.user,
                env={"LC_ALL": "C.UTF-8"},
                stdout=log,
                stderr=log,
                **options,
            )


@contextmanager
def hive_metastore(address, home, port):
    """Run a Hive Metastore on a database that has its tables; yield what its clients name."""
    options = {
        "javax.jdo.option.ConnectionURL": address,
        "javax.jdo.option.ConnectionDriverName": "org.postgresql.Driver",
        "javax.jdo.option.ConnectionUserName": USER,
        "javax.jdo.option.ConnectionPassword": PASSWORD,
        "hive.async.log.enabled": "false",
    }
    jars = [*installed_jars(), Path(pyspark.__file__).parent / "jars" / "*"]
    command = [find_java(), *FLAGS, "-cp", ":".join(map(str, jars)), SERVICE, "-p", str(port)]
    for name, value in options.items():
        command += ["--hiveconf", f"{name}={value}"]
    with open(home / "metastore.log", "ab") as log:
        process = subprocess.Popen(command, cwd=home, stdout=log, stderr=log)
    try:
        while not _answers(f"127.0.0.1:{port}"):
            assert process.poll() is None, (home / "metastore.log").read_text()
            time.sleep(0.05)
        yield f"thrift://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    fetch_postgres()
