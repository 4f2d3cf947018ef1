"""Disks that are full, folders that cannot be written, torn files, clocks that jump, damaged logs.

While the fault lasts a command says in one line what is wrong and what to do, and ends with a code
other than 0; after it, plain runs leave every message once.
"""

import base64
import csv
import gzip
import io
import json
import os
import random
import threading
import time
from contextlib import suppress

import pytest
from conftest import PROJECT
from faults import DBT, LAKEHOUSE, SmallDisk, run
from laboratory import Laboratory, change, thing, write_models
from shop import write_messages
from test_ingest_files import TOPICS, Lake

from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.jars import installed_jars
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.runtime.session import open_session

pytestmark = pytest.mark.full

MEBIBYTE = 1 << 20
NODES = ("topics", "events", "row_images", "things")
BUILD = (DBT, "build", "--resource-type", "seed", "--resource-type", "model", "-s", *NODES)


def assert_one_line(process, *texts, code=2):
    """Assert that a command has failed with one line of its own, which holds the texts."""
    assert process.process.returncode == code, process.said
    assert "Traceback" not in process.said
    assert "\tat " not in process.said and "JVM stacktrace" not in process.said
    errors = [line for line in process.said.splitlines() if all(text in line for text in texts)]
    assert len(set(errors)) == 1, process.said


@pytest.fixture(scope="module")
def laboratory(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("faults", change=write_models)
    return Laboratory(lakehouse, tmp_path_factory.mktemp("faults-landing"))


@pytest.fixture
def lake(spark, tmp_path, monkeypatch):
    """A project with an empty lakehouse, and a landing folder."""
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path / "lake"))
    (tmp_path / "project" / "seeds").mkdir(parents=True)
    (tmp_path / "project" / "seeds" / "topics.csv").write_text(TOPICS)
    return Lake(tmp_path / "project", tmp_path / "landing")


def large_messages(count):
    """Messages of 3 MiB that no codec makes much smaller."""
    noise = random.Random(1)
    names = [base64.b64encode(noise.randbytes(MEBIBYTE * 9 // 4)).decode() for _ in range(count)]
    return [change("INSERT", n + 1, thing(n, name)) for n, name in enumerate(names)]


@pytest.mark.long
def test_a_full_disk(laboratory, tmp_path):
    """Room runs out while an ingest copies files, while Spark writes, and while dbt does."""
    project, landing = laboratory.lakehouse.project, tmp_path / "landing"
    messages = [json.dumps(message).encode() for message in large_messages(8)]
    rows = [("lab.things", 0, offset, value) for offset, value in enumerate(messages)]
    write_messages(landing / "large.parquet", rows)
    size = (landing / "large.parquet").stat().st_size
    # More than Spark and Derby need to start.
    start = sum(jar.stat().st_size for jar in installed_jars())
    disk = SmallDisk(tmp_path / "disk", start + 12 * size)
    home = disk.folder / "lake"

    def command(*arguments):
        options = {"prefix": disk.prefix, "log": tmp_path / "said"}
        options["environment"] = {
            "DBT_LOG_PATH": str(tmp_path / "logs"),
            "DBT_TARGET_PATH": str(tmp_path / "target"),
        }
        return run(home, project, *arguments, **options)

    ingest = (LAKEHOUSE, "ingest", "files", landing)
    full = ("cannot be written", disk.reason, "Free room")
    try:
        disk.leave(free=0, limit=1)
        assert_one_line(command(*ingest), *full)
        named = (f"{landing}/large.parquet", "Free room")
        disk.leave(free=start // 2, limit=MEBIBYTE)
        assert_one_line(command(*ingest), *named, code=1)
        disk.leave(free=start + size // 2, limit=size // 2)
        assert_one_line(command(*ingest), *named, code=1)
        disk.leave(free=size * 5 // 4, limit=size // 2)
        if disk.is_mounted:  # a limit on files lets no second copy fail where the first did not
            assert_one_line(command(*ingest), *named, code=1)
        disk.empty()
        landed = command(*ingest)
        assert landed.process.returncode == 0, landed.said
        disk.leave(free=start + size // 2, limit=size // 4)
        assert_one_line(command(*BUILD), disk.reason, "Free room", code=1)
        disk.empty()
        built = command(*BUILD)
        assert built.process.returncode == 0, built.said
        sql = "select id, length(name), (select count(*) from bronze.messages) from gold.things"
        told = command(LAKEHOUSE, "query", sql, "--csv")
        assert told.process.returncode == 0, told.said
        found = list(csv.reader(io.StringIO(told.said)))[1:]
        expected = [[str(n), str(MEBIBYTE * 3), "8"] for n in range(8)]
        assert sorted(found) == sorted(expected)
    finally:
        disk.close()


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "name"),
    [(LAKEHOUSE, name) for name in ("", "locks", "tmp", "warehouse", "spark.log")]
    + [(DBT, name) for name in ("", "warehouse")],
)
def test_a_lakehouse_that_cannot_be_written_is_named(tmp_path, module, name):
    """A file where a folder has to be, or the reverse, stops root as well."""
    home = tmp_path / "lake"
    in_the_way = home / name
    if name == "spark.log":
        in_the_way.mkdir(parents=True)
    else:
        in_the_way.parent.mkdir(exist_ok=True)
        in_the_way.write_text("")
    landing = tmp_path / "landing"
    landing.mkdir()
    arguments = ("ingest", "files", landing) if module == LAKEHOUSE else ("run", "-s", "events")
    said = run(home, PROJECT, module, *arguments)
    texts = (f"{in_the_way}", "cannot be written: ", "LAKEHOUSE_DIR name another folder.")
    assert_one_line(said, *texts)
    in_the_way.rmdir() if name == "spark.log" else in_the_way.unlink()


def test_a_read_only_lakehouse_is_named(tmp_path):
    home, landing = tmp_path / "lake", tmp_path / "landing"
    (home / "tmp").mkdir(parents=True)
    (home / "locks").mkdir()
    landing.mkdir()
    (home / "locks").chmod(0o555)
    # A folder's mode does not stop root, but for a root without this capability.
    prefix = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    said = run(home, PROJECT, LAKEHOUSE, "ingest", "files", landing, prefix=prefix)
    assert_one_line(said, f"{home}", "cannot be written: ", "Make it writable")
    (home / "locks").chmod(0o755)


def test_a_file_that_grows_lands_whole_when_it_is_complete(lake):
    path = lake.put("shop.orders/growing.jsonl", b"0\n" * 200_000)
    ended = threading.Event()

    def grow():
        with open(path, "ab", buffering=0) as file:
            while not ended.is_set():
                file.write(b"1\n")
                time.sleep(0.001)

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        report = lake.ingest()
    finally:
        ended.set()
        writer.join()
    assert report.problems == [f"{path} changed while it was read. Run again when it is complete."]
    assert lake.rows("value") == []
    lines = path.read_bytes().splitlines()
    assert lake.ingest().messages == {"shop.orders": len(lines)}
    assert [value for _, value in lake.rows("offset", "value")] == lines
    assert lake.ingest().messages == {}


@pytest.mark.parametrize("kind", ["parquet", "gz"])
def test_half_a_file_lands_when_the_rest_has_come(lake, kind):
    values = [b"%d" % n for n in range(1000)]
    if kind == "parquet":
        path = lake.landing / "half.parquet"
        write_messages(path, [("shop.orders", 0, n, value) for n, value in enumerate(values)])
        whole = path.read_bytes()
    else:
        path = lake.landing / "shop.orders" / "half.jsonl.gz"
        path.parent.mkdir()
        whole = gzip.compress(b"\n".join(values))
    for part in (1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:part])
        [problem] = lake.ingest().problems
        assert problem.startswith(f"{path} ") and "Deliver it again, whole." in problem
        assert lake.rows("value") == []
    path.write_bytes(whole)
    assert lake.ingest().messages == {"shop.orders": 1000}
    assert [value for _, value in lake.rows("offset", "value")] == values
    assert lake.ingest().messages == {}


YEARS = 365 * 24 * 3600 * 10**9  # of a year, in nanoseconds


@pytest.mark.long
@pytest.mark.parametrize("moment", [-5 * YEARS, 0, 100 * YEARS, 280 * YEARS])
def test_files_of_a_clock_that_is_wrong_land_once(lake, moment):
    """1965, 1970, 2069 and 2249; then the clock goes right, and they are not new for that."""
    path = lake.put("shop.orders/old.jsonl", b"old\n")
    with suppress(OverflowError):
        os.utime(path, ns=(moment, moment))
    moment = path.stat().st_mtime_ns
    assert lake.ingest().problems == []
    assert lake.rows("value") == [(b"old",)]
    assert lake.rows("modified_at_ns", table="landed_files") == [(moment,)]
    os.utime(path)
    assert lake.ingest().messages == {}
    lake.put("shop.orders/new.jsonl", b"new\n")
    assert lake.ingest().messages == {"shop.orders": 1}


def set_clock_of_commits(laboratory, days):
    """Let all commits so far have been made under a clock that was wrong by so many days."""
    moment = time.time() + days * 24 * 3600
    for path in (laboratory.lakehouse.home / "warehouse").glob("*.db/*/_delta_log/*"):
        os.utime(path, (moment, moment))


@pytest.mark.long
def test_a_clock_that_jumps_changes_nothing(laboratory):
    """Delta tells the age of commits by the times of their files, and drops those of 30 days."""
    often = "alter table bronze.messages set tblproperties ('delta.checkpointInterval' = '2')"
    expected = []
    for number, days in enumerate((3650, -3650, -40, 0)):
        name = f"number {number}"
        message = change("INSERT", 100 + number, thing(number, name))
        expected.append((number, name, "1.00"))
        laboratory.deliver(message)
        assert laboratory.rows() == expected
        set_clock_of_commits(laboratory, days)
        laboratory.lakehouse.query(often)
        if days == -40:  # dbt lags behind the commits that Delta drops
            for again in range(4):
                row = ("lab.things", 0, laboratory.offset, json.dumps(message).encode())
                laboratory.offset += 1
                write_messages(laboratory.landing / f"{laboratory.offset} {again}.parquet", [row])
                laboratory.lakehouse.ingest(laboratory.landing)
                set_clock_of_commits(laboratory, days)
    log = laboratory.lakehouse.home / "warehouse" / "bronze.db" / "messages" / "_delta_log"
    assert not (log / f"{0:020}.json").exists()  # else nothing was dropped
    laboratory.lakehouse.dbt("run", "-s", "message_counts", "result_counts", "message_accounting")
    laboratory.lakehouse.dbt("test", "-s", "every_message_has_one_result", "accounting_adds_up")


def damage(path):
    path.write_bytes(b"\0" * path.stat().st_size)


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def without_checksum(path):
    """Damage a file of which Hadoop has no checksum, as one that was copied."""
    path.with_name(f".{path.name}.crc").unlink()
    damage(path)


@pytest.mark.long
@pytest.mark.parametrize("harm", [damage, cut, without_checksum])
def test_a_damaged_commit_of_bronze_is_named_with_a_remedy(lake, harm):
    lake.put("shop.orders/first.jsonl", b"first\n")
    lake.ingest()
    lake.put("shop.orders/second.jsonl", b"second\n")
    lake.ingest()
    log = warehouse_path("bronze", "messages") / "_delta_log"
    newest = sorted(log.glob("*.json"))[-1]
    harm(newest)
    forget_tables()
    lake.put("shop.orders/third.jsonl", b"third\n")
    with pytest.raises(LakehouseError) as error:
        lake.ingest()
    said = str(error.value)
    assert f"The log of bronze.messages is damaged: {newest} cannot be read. Put it back" in said
    assert "\n" not in said
    # What the sentence advises, where there is no backup.
    newest.unlink()
    newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)
    forget_tables()
    lake.ingest()
    assert lake.rows("value") == [(b"first",), (b"second",), (b"third",)]


@pytest.mark.long
@pytest.mark.parametrize("harm", [damage, cut])
def test_a_damaged_checkpoint_of_bronze_is_named_with_a_remedy(lake, harm):
    names = ["first", "second"]
    for name in names:
        lake.put(f"shop.orders/{name}.jsonl", name.encode())
        lake.ingest()
        open_session(metastore=False).sql(
            f"alter table {bronze.by_path('messages')} "
            "set tblproperties ('delta.checkpointInterval' = '2')"
        )
    log = warehouse_path("bronze", "messages") / "_delta_log"
    checkpoint = sorted(log.glob("*.checkpoint.parquet"))[-1]
    harm(checkpoint)
    forget_tables()
    lake.put("shop.orders/third.jsonl", b"third")
    with pytest.raises(LakehouseError) as error:
        lake.ingest()
    said = str(error.value)
    assert f"The log of bronze.messages is damaged: {checkpoint} cannot be read. Move it" in said
    assert "\n" not in said
    checkpoint.unlink()
    forget_tables()
    lake.ingest()
    assert lake.rows("value") == [(b"first",), (b"second",), (b"third",)]


def forget_tables():
    """Forget what this Java has read of Delta logs, as the next process has."""
    session = open_session(metastore=False)
    session._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
