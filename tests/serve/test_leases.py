"""The locks of a lakehouse whose metastore is shared: files that a holder renews."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime import leases, locks
from cdc_lakehouse.runtime.leases import LEASE_SECONDS, Lease
from cdc_lakehouse.runtime.served import served_file

# Takes a lease when it is told to, and says so; closes it when it is told to.
HOLDER = """
import sys
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.leases import Lease
for line in sys.stdin:
    try:
        if line.strip() == "close":
            lease.close()
            print("closed", flush=True)
        else:
            lease = Lease(*line.split(), "Wait.", is_shared="{kind}" == "shared")
            print("held", flush=True)
    except LakehouseError as error:
        print(error, flush=True)
"""
SLOW = """
from cdc_lakehouse.runtime import leases
leases.LEASE_SECONDS, leases.RENEW_SECONDS = 2, 0.2
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path))
    monkeypatch.setenv("LAKEHOUSE_METASTORE", "thrift://127.0.0.1:1")
    return tmp_path


class Other:
    """Another process, which takes leases as it is told."""

    def __init__(self, kind="alone", before=""):
        command = [sys.executable, "-c", before + HOLDER.format(kind=kind)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, text=True, bufsize=1, **pipes)

    def say(self, line):
        self.process.stdin.write(f"{line}\n")
        return self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.communicate()


def written(name, **changes):
    """Write a lease of another process as it writes it, with changes; return its file."""
    with Lease(name, "", is_shared=False) as lease:
        about = json.loads(lease._path.read_text())
    path = lease._path.with_name("other.json")
    path.write_text(json.dumps({**about, "token": "another", **changes}))
    return path


def test_one_process_holds_a_name_and_the_other_is_told_of_it(home):
    with Other() as other:
        assert other.say("bronze") == "held"
        said = f"^{home} is in use by process {other.process.pid} of .* Wait for it.$"
        with pytest.raises(LakehouseError, match=said):
            locks.hold("bronze", "Wait for it.")
        locks.hold("ingest", "").close()
        assert other.say("close") == "closed"
        with locks.hold("bronze", ""):
            assert "is in use by" in other.say("bronze")
        assert other.say("bronze") == "held"


def test_a_shared_lease_keeps_out_who_needs_the_name_alone():
    with Other("shared") as one, Other("shared") as two:
        assert [one.say("metastore"), two.say("metastore")] == ["held", "held"]
        with locks.hold("metastore", "", is_shared=True):
            pass
        for each in (one, two):
            with pytest.raises(LakehouseError):
                locks.hold("metastore", "")
            each.say("close")
        with locks.hold("metastore", ""):
            assert "is in use by" in one.say("metastore")


def test_a_process_shares_with_itself_what_it_has_alone():
    with locks.hold_tables_alone("Wait."), locks.hold_tables("Wait.", to_write=True):
        pass
    with locks.hold("bronze", ""), pytest.raises(LakehouseError, match="is in use by"):
        locks.hold("bronze", "")


def test_readers_keep_out_an_erasure_and_no_maintenance():
    with Other("shared") as reader:
        assert reader.say("readers") == "held"
        locks.hold_tables_alone("", are_read=True).close()
        with pytest.raises(LakehouseError):
            locks.hold_tables_alone("")
        locks.hold_tables("", to_write=True).close()


def test_one_process_serves_a_machine_beside_those_of_others(home):
    with Other("shared") as reader, Other() as other, locks.hold_to_serve():
        assert reader.say("readers") == "held"
        assert "is in use by" in other.say(f"serve-{socket.gethostname()}")
        assert other.say("serve-elsewhere") == "held"
        assert "is in use by" in other.say("readers")
    assert served_file() == home / f"served-{socket.gethostname()}.json"


def test_a_killed_process_of_this_machine_loses_its_lease_at_once():
    with Other() as other:
        assert other.say("bronze") == "held"
    began = time.monotonic()
    locks.hold("bronze", "").close()
    assert time.monotonic() - began < LEASE_SECONDS / 2


def test_a_process_of_another_machine_loses_its_lease_by_not_renewing_it():
    path = written("bronze", machine="another", holder="process 1 of elsewhere")
    with pytest.raises(LakehouseError, match="in use by process 1 of elsewhere"):
        locks.hold("bronze", "")
    then = time.time() - LEASE_SECONDS - 1
    os.utime(path, (then, then))
    locks.hold("bronze", "").close()
    assert not path.exists()


def test_a_number_of_a_process_that_is_given_again_holds_nothing():
    written("bronze", began="1")
    locks.hold("bronze", "").close()


def test_a_holder_renews_its_lease(monkeypatch):
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.05)
    with locks.hold("bronze", "") as lease:
        os.utime(lease._path, (1, 1))
        deadline = time.monotonic() + 60
        while lease._path.stat().st_mtime < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_who_has_lost_its_lease_ends_at_once(home):
    with Other(before=SLOW) as other:
        assert other.say("bronze") == "held"
        (path,) = (home / "leases" / "bronze").glob("*.json")
        path.unlink()
        assert other.process.wait(60) == 1
        assert re.search("has lost it, so it ends here", other.process.stderr.read())


def test_who_slept_for_longer_than_a_lease_ends_though_its_file_is_there(home):
    with Other(before=SLOW) as other:
        assert other.say("bronze") == "held"
        other.process.send_signal(signal.SIGSTOP)
        time.sleep(3)
        other.process.send_signal(signal.SIGCONT)
        assert other.process.wait(60) == 1


def test_who_hangs_as_it_renews_its_lease_ends_when_that_is_lost():
    hangs = "leases.renew = lambda path: __import__('time').sleep(600)\n"
    with Other(before=SLOW + hangs) as other:
        assert other.say("bronze") == "held"
        assert other.process.wait(60) == 1


def test_on_s3_one_process_writes_beside_readers(monkeypatch):
    monkeypatch.setattr(locks, "storage_scheme", lambda: "s3a")
    with locks.hold_tables_alone("Wait."), locks.hold_tables("Wait.", to_write=True):
        pass
    with Other() as one, Other() as two, Other("shared") as reader:
        assert reader.say("readers") == "held"
        assert [one.say("writer"), two.say("bronze-writer")] == ["held", "held"]
        locks.hold_tables("Wait.", to_write=False).close()
        with pytest.raises(LakehouseError, match=f"in use by process {one.process.pid}"):
            locks.hold_tables("Wait.", to_write=True)
        with pytest.raises(LakehouseError, match="On S3 one process at a time writes bronze"):
            locks.hold_bronze()
        assert [one.say("close"), two.say("close")] == ["closed", "closed"]
        with locks.hold_tables("Wait.", to_write=True), locks.hold_bronze():
            assert "is in use by" in one.say("writer")


def test_of_many_that_begin_at_once_never_two_hold_a_name():
    """Each notes when it held it; no two of these times overlap."""
    with ThreadPoolExecutor(4) as pool:
        others = [Other() for _ in range(4)]

        def take(other):
            held = []
            for _ in range(15):
                if other.say("bronze") == "held":
                    began = time.monotonic()
                    time.sleep(0.02)
                    held.append((began, time.monotonic()))
                    other.say("close")
            return held

        times = sorted(time for held in pool.map(take, others) for time in held)
        for other in others:
            other.__exit__()
    assert times
    assert all(end <= begin for (_, end), (begin, _) in pairwise(times))


def test_a_lakehouse_that_shared_a_metastore_once_has_leases(home, monkeypatch):
    monkeypatch.delenv("LAKEHOUSE_METASTORE")
    (home / "shared_metastore").write_text("thrift://127.0.0.1:1\n")
    with locks.hold("kafka-orders", ""):
        assert [path.name for path in (home / "leases").iterdir()] == ["kafka-orders"]
        assert locks.known_locks() == ["kafka-orders"]
