"""A real schema registry on loopback: fetched once (140 MB), started and stopped by long tests."""

import json
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from broker import FLAGS, _free_ports

from cdc_lakehouse.runtime.jars import retrieve
from cdc_lakehouse.runtime.java import find_java

IVY_FILE = Path(__file__).with_name("registry.ivy.xml")
FOLDER = Path(sys.prefix, "share", "cdc_lakehouse", "registry")


def fetch_registry():
    """Fetch the registry, if it is not there; return the jar that starts it."""
    if not list(FOLDER.glob("*-runner.jar")):
        if reason := retrieve(IVY_FILE, FOLDER):
            raise RuntimeError(f"The schema registry could not be fetched:\n{reason}")
        (archive,) = FOLDER.glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(FOLDER, filter="data")
        archive.unlink()
    (jar,) = FOLDER.glob("*-runner.jar")
    return jar


class SchemaRegistry:
    """A registry without schemas; it forgets them when it stops."""

    def __init__(self, home):
        (port,) = _free_ports(1)
        self.address = f"http://127.0.0.1:{port}/apis/ccompat/v7"
        options = (f"-Dquarkus.http.port={port}", "-Dquarkus.http.host=127.0.0.1")
        command = [find_java(), "-Xmx300m", *FLAGS[1:], *options, "-jar", fetch_registry()]
        with open(home / "registry.log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        while not self._answers():
            if self.process.poll() is not None:
                raise RuntimeError((home / "registry.log").read_text()[-3000:])
            time.sleep(0.2)

    def register(self, subject, schema, kind="AVRO"):
        """Add a schema as a converter does, and return its id; of another kind it is a text."""
        text = json.dumps(schema) if kind == "AVRO" else schema
        request = Request(
            f"{self.address}/subjects/{subject}/versions",
            data=json.dumps({"schema": text, "schemaType": kind}).encode(),
            headers={"Content-Type": "application/vnd.schemaregistry.v1+json"},
        )
        with urlopen(request) as answer:
            return json.load(answer)["id"]

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def _answers(self):
        try:
            with urlopen(f"{self.address}/subjects") as answer:
                return answer.status == 200
        except (URLError, ConnectionError):
            return False
