"""Maintenance: few files whatever the number of runs, and nobody notices but by the speed.

MAINTAIN_RUNS (of ingest and dbt, maintained at every eighth of them) makes it long.
"""

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from datetime import timedelta

import pytest
from conftest import SAID
from laboratory import Laboratory, change, thing, write_models
from shop import write_messages

from cdc_lakehouse.console.report import maintain_text
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.operate.maintain import maintain, parse_duration

pytestmark = pytest.mark.long

RUNS = int(os.environ.get("MAINTAIN_RUNS") or 2)
EVERY = max(2, RUNS // 8)
MODELS = {"things": "cluster_by=['name']", "things_history": "materialized='history'"}
TABLES = ("bronze.messages", "silver.events", "gold_storage.things", "gold_storage.things_history")
# What a run adds to a table at most: data files (a merge one per core and a deletion vector), and
# commits.
FILES_A_RUN, COMMITS_A_RUN = 6, 2
AT_ONCE = timedelta(0)


def _maintain(retention, waits=0.0):
    """Maintain in the process of dbt, which has to let go of its tables for it."""
    import threading

    from cdc_lakehouse.runtime.locks import hold
    from dbt.adapters.lakehouse import connections

    if waits:
        threading.Timer(waits, connections._held.close).start()
    else:
        connections._held.close()
    try:
        return maintain(retention, wait=60 if waits else 0, shortest=AT_ONCE)
    finally:
        connections._held = hold("metastore", "")


def _let_go(held):
    from cdc_lakehouse.runtime.locks import hold
    from dbt.adapters.lakehouse import connections

    connections._held.close()
    if held:
        connections._held = hold("metastore", "")


class Kept(Laboratory):
    def land(self, message):
        """Land one message at the next offset."""
        path = self.landing / f"one-{self.offset}.parquet"
        write_messages(path, [("lab.things", 0, self.offset, json.dumps(message).encode())])
        self.offset += 1
        assert self.lakehouse.ingest(path).files == 1

    def maintain(self, retention=AT_ONCE, waits=0.0):
        """Return what became of each table, and the report."""
        report = self.lakehouse.process.submit(_maintain, retention, waits).result()
        assert report.problems == []
        return {table.table: table for table in report.tables}, report

    def folder(self, table):
        schema, name = table.split(".")
        return self.lakehouse.home / "warehouse" / f"{schema}.db" / name

    def files(self, table):
        """Return the files of a table on disk, those of its log and checksums aside."""
        found = self.folder(table).rglob("*")
        return [
            path
            for path in found
            if path.is_file() and "_delta_log" not in path.parts and path.suffix != ".crc"
        ]

    def log_entries(self, table):
        return sorted((self.folder(table) / "_delta_log").glob("*.json"))

    def content(self):
        """Return all that there is to read; of bronze also the commit that brought a message."""
        bronze = "select topic, partition, offset, value, _metadata.row_commit_version as version"
        things = "select * from gold.things order by id"
        versions = "select * from gold.things_history order by id, _sequence"
        return (
            self.lakehouse.query(f"{bronze} from bronze.messages order by 1, 2, 3"),
            self.lakehouse.query("select * from silver.events order by topic, offset, row_number"),
            self.lakehouse.query(things),
            self.lakehouse.query(versions),
        )

    def run_command(self, *arguments, **options):
        """Start `lakehouse maintain` in a process group of its own."""
        environment = os.environ | {"LAKEHOUSE_DIR": str(self.lakehouse.home)}
        command = [sys.executable, "-m", "cdc_lakehouse.console.cli", "maintain", *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        options |= {"cwd": self.lakehouse.project, "env": environment, "start_new_session": True}
        return subprocess.Popen(command, **pipes, **options)


@pytest.fixture(scope="module")
def kept(open_lakehouse, tmp_path_factory):
    """A lakehouse after many small runs, maintained among them; `measured` tells of each time."""
    lakehouse = open_lakehouse("kept", change=lambda project: write_models(project, MODELS))
    kept = Kept(lakehouse, tmp_path_factory.mktemp("kept-landing"), MODELS)
    kept.deliver(*(change("INSERT", n, thing(n, f"thing {n}")) for n in range(50)))
    kept.measured, kept.seconds = [], []
    for run in range(RUNS):
        began_at = time.monotonic()
        name = f"name {run}"
        kept.land(change("UPDATE", 1000 + run, thing(run % 50, name), old=[{"name": "before"}]))
        kept.lakehouse.dbt("run", "-s", "events", "things")
        kept.seconds.append(time.monotonic() - began_at)
        if (run + 1) % EVERY == 0:
            before = {table: len(kept.files(table)) for table in TABLES}
            done, report = kept.maintain()
            kept.measured.append((before, done, report.seconds))
    return kept


def test_the_number_of_files_is_bounded(kept):
    assert len(kept.measured) == RUNS // EVERY
    for before, done, _ in kept.measured:
        for table in TABLES:
            # What the last maintenance left, and what the runs since have added.
            assert before[table] <= 3 + EVERY * FILES_A_RUN, (table, before)
            # All fits in one file; and nothing else is left, for the retention is none.
            assert done[table].files == 1
            assert done[table].files_on_disk <= 1, table
    (first, *_), last = kept.measured[0], kept.measured[-1]
    every = [seconds for _, _, seconds in kept.measured]
    SAID.append(
        f"maintenance: {RUNS} runs of {statistics.median(kept.seconds):.1f} s, each {EVERY} of them"
        f" maintained in {statistics.median(every):.1f} s; files before {max(first.values())},"
        f" log entries at the end {max(table.log_entries for table in last[1].values())}"
    )


def test_the_number_of_log_entries_is_bounded(kept):
    for table in TABLES:
        # Delta keeps them for 30 days; of what a reader opens, none is left beside the checkpoint.
        entries = kept.log_entries(table)
        assert len(entries) <= 3 + RUNS * COMMITS_A_RUN + 2 * len(kept.measured)
        checkpoints = (kept.folder(table) / "_delta_log").glob("*.checkpoint*.parquet")
        newest = max(path.name.split(".")[0] for path in checkpoints)
        assert sum(entry.name.split(".")[0] > newest for entry in entries) <= COMMITS_A_RUN * EVERY


def test_nothing_that_can_be_read_changes(kept):
    kept.deliver(change("UPDATE", 5000, thing(7, "seven"), old=[{"name": "before"}]))
    kept.deliver(change("DELETE", 5001, thing(8, "gone")))
    moment = kept.lakehouse.query("select current_timestamp() as now")[0]["now"]
    as_of = f"select * from gold.things_as_of(timestamp '{moment}') order by id"
    before, rows_as_of = kept.content(), kept.lakehouse.query(as_of)
    done, _ = kept.maintain()
    assert all(done[table].files_deleted for table in TABLES)
    # What silver has come to is kept beside the data files.
    assert (kept.folder("silver.events") / "_latest_changes.json").exists()
    assert kept.content() == before
    assert kept.lakehouse.query(as_of) == rows_as_of
    assert len(rows_as_of) == 49


def test_the_next_run_reads_what_is_new_and_no_more(kept):
    said = kept.lakehouse.dbt("run", "-s", "events", *MODELS)
    assert set(said.values()) == {"NOTHING NEW"}
    kept.deliver(change("UPDATE", 5100, thing(9, "nine"), old=[{"name": "before"}]))
    (events,) = kept.lakehouse.query("describe history silver.events limit 1")
    assert events["operationMetrics"]["numOutputRows"] == "1"
    assert kept.history()[0]["operationMetrics"]["numSourceRows"] == "1"
    assert ("nine",) in kept.rows("name")


def test_bronze_keeps_what_silver_has_not_read(kept):
    """Silver would read the files of each commit, also those that compaction has replaced."""
    for number in (1, 2):
        kept.land(change("INSERT", 6000 + number, thing(600 + number, "late")))
    done, report = kept.maintain()
    assert done["bronze.messages"].files_deleted == 0
    said = maintain_text(report)
    assert "bronze.messages was not vacuumed: silver has yet to read 2 commits" in said
    kept.lakehouse.dbt("run", "-s", "events", *MODELS)
    assert kept.lakehouse.query("select count(*) as n from gold.things where id > 600") == [
        {"n": 2}
    ]
    done, report = kept.maintain()
    assert report.notes == []
    assert done["bronze.messages"].files_deleted >= 2


def test_it_stands_beside_an_ingest_and_leaves_dbt_its_tables(kept):
    running = kept.run_command("--retention", "1 hour", "--json")
    first, landed = kept.offset, 0
    while running.poll() is None or landed < 3:
        kept.land(change("UPDATE", 7000 + landed, thing(3, f"beside {landed}")))
        landed += 1
    output, errors = running.communicate()
    assert running.returncode == 1, errors
    told = json.loads(output)
    names = {table["table"] for table in told["tables"]}
    assert "bronze.messages" in names and not any("gold_storage" in name for name in names)
    [problem] = told["problems"]
    assert problem.startswith("The tables of silver and gold: ")
    assert "is in use by process" in problem and problem in errors
    kept.lakehouse.dbt("run", "-s", "events", *MODELS)
    found = kept.lakehouse.query(
        f"select offset, count(*) as n from silver.events where offset >= {first} group by offset"
    )
    assert {row["offset"]: row["n"] for row in found} == dict.fromkeys(range(first, kept.offset), 1)
    assert (f"beside {landed - 1}",) in kept.rows("name")


def test_left_overs_of_killed_runs_go_when_they_are_old(kept):
    folder = kept.folder("silver.events")
    names = ("part-of-a-killed-run.snappy.parquet", "deletion_vector_of_a_killed_run.bin")
    old = [folder / name for name in names]
    old.append(kept.lakehouse.home / "tmp" / "blockmgr-of-a-killed-run")
    young = folder / "part-of-a-running-run.parquet"
    old[-1].mkdir()
    for path in (*old[:-1], young):
        path.write_bytes(b"orphan")
    eight_days_ago = time.time() - 8 * 86_400
    for path in old:
        os.utime(path, (eight_days_ago, eight_days_ago))
    # Whoever holds the tables lets go of them in a second, for which it waits.
    done, report = kept.maintain(timedelta(days=7), waits=1.0)
    assert set(TABLES) < set(done)
    assert [path for path in old if path.exists()] == []
    assert young.exists()
    assert report.left_overs == 1
    assert done["silver.events"].files_deleted == 2
    young.unlink()


def test_a_kill_in_the_middle_is_harmless(kept):
    before = kept.content()
    kept.lakehouse.process.submit(_let_go, False).result()
    versions = {table: len(kept.log_entries(table)) for table in TABLES}
    running = kept.run_command("--retention", "1 hour")
    chosen = random.Random(os.environ["SEED"]).choice(TABLES)
    while running.poll() is None and len(kept.log_entries(chosen)) == versions[chosen]:
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    assert running.returncode in (-signal.SIGKILL, 0)
    kept.lakehouse.process.submit(_let_go, True).result()
    assert kept.content() == before
    kept.maintain()
    assert kept.content() == before
    kept.deliver(change("INSERT", 8000, thing(800, "after")))
    assert ("after",) in kept.rows("name")


def test_log_entries_of_more_than_30_days_go(kept):
    for table in TABLES:
        for path in (kept.folder(table) / "_delta_log").iterdir():
            if path.is_file():
                modified_at = path.stat().st_mtime - 40 * 86_400
                os.utime(path, (modified_at, modified_at))
    kept.deliver(change("INSERT", 9000, thing(900, "young")))
    before = kept.content()
    done, _ = kept.maintain()
    assert {table: done[table].log_entries for table in TABLES if done[table].log_entries > 5} == {}
    assert kept.content() == before
    kept.deliver(change("INSERT", 9001, thing(901, "next")))
    assert ("next",) in kept.rows("name")


@pytest.mark.parametrize(
    ("text", "duration"),
    [("7 days", timedelta(days=7)), ("1hour", timedelta(hours=1)), (" 2 WEEKS ", timedelta(14))],
)
def test_a_duration_is_a_number_and_a_unit(text, duration):
    assert parse_duration(text) == duration


@pytest.mark.parametrize("text", ["", "7", "days", "-1 days", "1 month", "1.5 days", "7 days ago"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(LakehouseError, match="Write a number and a unit, for example '7 days'"):
        parse_duration(text)


def test_a_retention_that_endangers_running_writers_is_refused():
    with pytest.raises(LakehouseError, match="Give 1:00:00 at least"):
        maintain(timedelta(minutes=59))
