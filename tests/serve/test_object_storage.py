"""A lakehouse in S3: what a folder of a machine can do, and what two machines may not."""

import importlib
import json
import os
import random
import re
import shutil
import time
import urllib.request
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from broker import Broker, _free_ports
from commands import Commands
from conftest import PROJECT
from object_storage import BUCKET, LOST, REFUSED, SLOW, s3_server

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime import paths
from cdc_lakehouse.runtime.functions import open_package

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3")) as s3:
        yield s3


@pytest.fixture(scope="module")
def lake(s3, tmp_path_factory):
    """A lakehouse in S3 with two things."""
    home = tmp_path_factory.mktemp("lake")
    lake = Commands(home, LAKEHOUSE_DIR=f"s3a://{BUCKET}/lake", **s3.environment)
    lake.send("first", "second")
    lake.lakehouse("run", "files", lake.landing)
    return lake


@pytest.mark.parametrize(
    "given", ["s3a://", "s3://bucket/lake", "s3a://bucket//lake", "hdfs://host/lake", "file:/lake"]
)
def test_what_is_no_address_of_object_storage_is_refused(given, monkeypatch):
    """A folder of that name would be made in the project, in silence."""
    monkeypatch.setenv("LAKEHOUSE_DIR", given)
    with pytest.raises(LakehouseError, match=f"LAKEHOUSE_DIR={given} is no address"):
        paths.lakehouse_dir()


def test_each_address_has_a_folder_of_its_own_for_what_stays_here(monkeypatch):
    found = set()
    for given in ("s3a://b/lake", "s3a://b/la/ke", "s3a://b/la_ke", "s3a://b"):
        monkeypatch.setenv("LAKEHOUSE_DIR", f"{given}/")
        assert (
            str(paths.warehouse_path("Silver", "Events")) == f"{given}/warehouse/silver.db/events"
        )
        found.add(paths.work_dir())
    assert len(found) == 4


def _ask_storage():
    """What an ObjectPath answers, in a process whose Java knows S3."""
    root = paths.lakehouse_dir() / "paths"
    names = ("a.json", "b.json", "inner/c.txt")
    for name in names:
        (root / name).write_text(f"text of {name}: é 订\n")
    missing = root / "nothing.json"
    said = {
        "text": (root / "a.json").read_text(),
        "size": (root / "a.json").stat().st_size,
        "is_recent": (root / "b.json").stat().st_mtime >= (root / "a.json").stat().st_mtime,
        "exists": [(root / n).exists() for n in ("a.json", "inner", "nothing.json")],
        "is_dir": [(root / n).is_dir() for n in ("a.json", "inner", "nothing.json")],
        "glob": sorted(path.name for path in root.glob("*.json")),
        "missing": list(missing.glob("*")) + list(missing.walk()),
        "walk": sorted(str(path) for path, _ in root.walk()),
        "sorted": max(root.glob("*.json")).stem,
        "suffix": str((root / "a.json").with_suffix(".crc")),
    }
    (root / "a.json").unlink()
    missing.unlink(missing_ok=True)
    for fails in (missing.unlink, missing.read_text, missing.stat):
        try:
            fails()
        except FileNotFoundError as error:
            said[f"{fails.__name__} of nothing"] = error.filename
    root.remove_tree()
    root.remove_tree()
    said["left"] = list(root.iterdir())
    return said


def test_a_path_in_object_storage_is_asked_as_one_of_a_folder(s3, tmp_path, monkeypatch):
    (tmp_path / "dbt_project.yml").write_text("name: nothing\n")
    given = {"LAKEHOUSE_DIR": f"s3a://{BUCKET}/own", "DBT_PROJECT_DIR": str(tmp_path)}
    for name, value in (given | s3.environment).items():
        monkeypatch.setenv(name, value)
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        said = process.submit(_ask_storage).result()
    root = f"s3a://{BUCKET}/own/paths"
    missing = f"{root}/nothing.json"
    assert said == {
        "text": "text of a.json: é 订\n",
        "size": len("text of a.json: é 订\n".encode()),
        "is_recent": True,
        "exists": [True, True, False],
        "is_dir": [False, True, False],
        "glob": ["a.json", "b.json"],
        "missing": [],
        "walk": [f"{root}/a.json", f"{root}/b.json", f"{root}/inner/c.txt"],
        "sorted": "b",
        "suffix": f"{root}/a.crc",
        "unlink of nothing": missing,
        "read_text of nothing": missing,
        "stat of nothing": missing,
        "left": [],
    }


def test_files_that_messages_name_are_read_as_a_lakehouse_is(s3, monkeypatch):
    open_package(PROJECT)
    claims = importlib.import_module("udfs._claims")
    refused = importlib.import_module("udfs._json_values").Refused
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    named = {"LAKEHOUSE_CLAIMS": f"s3://{BUCKET}/claims/"}
    place, access = claims.place_of(os.environ | named, Path("/project"))
    s3.write("claims/a.json", '{"type":"INSERT"}')
    s3.write("claims/inner/b.json", "{}")

    files = claims.Claims(place, access)
    assert files.message("s3://elsewhere/a.json", 100) == b'{"type":"INSERT"}'
    with pytest.raises(refused, match="has 17 bytes, more than max_message_bytes"):
        files.message("a.json", 16)
    for name in ("b.json", "inner"):
        with pytest.raises(refused, match=f"not in the message but in s3://c/{name}"):
            files.message(f"s3://c/{name}", 100)
    for away in (
        ("s3://nothing/claims", access),
        (place, access | {"endpoint_override": "127.0.0.1:1"}),
    ):
        with pytest.raises(claims.Unreadable, match=r"where a\.json cannot be read") as error:
            claims.Claims(*away).message("a.json", 100)
        assert s3.secret not in str(error.value)


@pytest.mark.long
def test_messages_become_rows(lake, s3):
    assert lake.names() == ["first", "second"]
    tables = {key.split("/")[2] for key in s3.keys("lake/warehouse/")}
    assert tables >= {"bronze.db", "silver.db", "gold.db"}
    # What stays on this machine may be deleted: no table is there, and no lease.
    here = list((lake.project / ".lakehouse").rglob("*"))
    assert not [path for path in here if path.suffix == ".parquet" or path.name == "leases"]


@pytest.mark.long
def test_no_secret_is_written(lake, s3):
    written = [p for f in (lake.home.parent, lake.project) for p in f.rglob("*") if p.is_file()]
    assert any(path.name == "spark.log" for path in written)
    assert not [path for path in written if s3.secret.encode() in path.read_bytes()]


@pytest.mark.long
@pytest.mark.parametrize(
    "name, command, code, said",
    [
        ("metastore", "run", 1, "is in use by process 7 of another. "),
        ("bronze-writer", "ingest", 2, "On S3 one process at a time writes bronze: run again"),
    ],
)
def test_of_two_machines_one_writes(lake, s3, name, command, code, said):
    """Delta could not keep them from making the same commit, and the messages of one were lost."""
    key = f"lake/leases/{name}/another.json"
    about = {"token": "another", "machine": "another", "process": 7, "began": "1"}
    about |= {"holder": "process 7 of another", "is_shared": False}
    s3.write(key, json.dumps(about))
    try:
        assert said in lake.lakehouse(command, "files", lake.landing, code=code)
    finally:
        s3.client.delete_object(Bucket=BUCKET, Key=key)


@pytest.mark.long
def test_what_this_machine_keeps_may_be_deleted(lake):
    """Its metastore, too: the tables are named again."""
    before = lake.names()
    shutil.rmtree(lake.project / ".lakehouse")
    lake.send("after")
    lake.lakehouse("run", "files", lake.landing)
    assert lake.names() == [*before, "after"]


@pytest.mark.long
@pytest.mark.parametrize("kind, every", [(REFUSED, 5), (LOST, 5), (SLOW, 15)])
def test_faults_of_the_storage_lose_nothing(lake, s3, kind, every):
    before = lake.names()
    with s3.failing(kind, every):
        lake.send(f"beside {kind}")
        lake.lakehouse("run", "files", lake.landing)
    assert lake.names() == [*before, f"beside {kind}"]


@pytest.mark.long
def test_kills_at_any_moment_lose_nothing(lake):
    generator, before = random.Random(os.environ["KILL_SEED"]), lake.names()
    kills = int(os.environ.get("KILLS") or 3)
    for number in range(kills):
        lake.send(f"killed {number}")
        process = lake.begin(*lake.command("run", "files", lake.landing))
        time.sleep(generator.uniform(3, 30))
        process.kill()
        process.communicate()
    lake.lakehouse("run", "files", lake.landing, "--test")
    assert lake.names() == [*before, *(f"killed {number}" for number in range(kills))]


@pytest.mark.long
def test_tables_are_looked_after(lake):
    before = lake.names()
    assert "silver.events" in lake.lakehouse("maintain", "--retention", "1 hour")
    lake.lakehouse("reroute")
    assert "Nothing to drop" in lake.lakehouse("expire", "--older-than", "400 days")
    assert lake.names() == before


@pytest.mark.long
def test_a_stream_keeps_its_place_in_object_storage(lake, s3, tmp_path):
    def ingest(*more, code=0):
        source = ("kafka", "--bootstrap-servers", broker.plain, "--subscribe", "lab.streamed")
        return lake.lakehouse("ingest", *source, *more, code=code)

    def landed():
        query = "select count(*) as n from bronze.messages where topic = 'lab.streamed'"
        return lake.lakehouse("query", query, "--csv").splitlines()[1]

    broker, topic = Broker(tmp_path), "lab.streamed"
    try:
        broker.make_topic(topic, messages=[b"1", b"2"])
        ingest()
        broker.produce(topic, b"3")
        ingest()
        assert landed() == "3"
        folder = "lake/checkpoints/kafka/kafka/"
        assert f"{folder}commits/1" in s3.keys(folder)
        for batch in (0, 1):
            s3.client.delete_object(Bucket=BUCKET, Key=f"{folder}offsets/{batch}")
        assert "--recover" in ingest(code=2)
        broker.produce(topic, b"4")
        ingest("--recover")
        broker.produce(topic, b"5")
        ingest()
        assert landed() == "5"
    finally:
        broker.stop()


@pytest.mark.long
def test_commands_beside_serve_use_its_spark(lake):
    """Though they have asked the storage before, for which they started a Java of their own."""

    def is_ready():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{http}/ready") as answer:
                return answer.status == 200
        except OSError:
            assert process.poll() is None
            return False

    port, http = _free_ports(2)
    ports = ("--port", port, "--http-port", http)
    process = lake.begin(*lake.command("serve", *ports))
    try:
        while not is_ready():
            time.sleep(0.2)
        before = lake.names()
        lake.send("served")
        lake.lakehouse("run", "files", lake.landing)
        assert lake.names() == [*before, "served"]
        shown = lake.lakehouse("show")
        assert re.search(rf"^gold\.things +{len(before) + 1} ", shown, re.MULTILINE), shown
        assert process.poll() is None
    finally:
        process.terminate()
        process.communicate()
    assert process.returncode == 0


@pytest.mark.long
def test_an_erasure_says_what_versions_keep(lake, s3):
    """The last test: others of this module do without these two things."""
    lake.dbt("run")
    _, second, *others = lake.names()
    said = lake.lakehouse("erase", "lab.things", "--key", "id=1")
    assert said.splitlines()[-1] == "The erasure is complete."
    assert lake.names() == [second, *others]
    versions = {"Status": "Enabled"}
    s3.client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration=versions)
    said = lake.lakehouse("erase", "lab.things", "--key", "id=2", code=1)
    assert f"The bucket of s3a://{BUCKET}/lake keeps the versions of objects" in said
    assert said.splitlines()[-1].startswith("The erasure is not complete: the storage may keep")
    assert lake.names() == others
