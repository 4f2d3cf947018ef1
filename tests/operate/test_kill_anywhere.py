"""Whenever ingest and dbt are killed, the next plain run leaves what runs without a kill leave.

A random log of a source table (`convergence.random_log`) comes in batches, out of order and with
repeats, as Parquet and as line files. Beside a lakehouse that nobody disturbs, one whose every
command is killed with kill -9: at random moments, and before and after the commits of each table.

KILL_ROUNDS (3) is the number of kills, KILL_SEED chooses log, delivery and kills. Three is once
in silver when its table is new, in an ingest, and in gold; thirteen is before and after each
commit; the further ones are drawn at random.
"""

import os
import random
import shutil
from collections import Counter

import pytest
from conftest import SAID, Lakehouse
from convergence import Table, model_of, random_log
from faults import DBT, LAKEHOUSE, Place, all_commits, kill_at
from shop import write_messages
from summaries import check_summaries, keep_always
from test_convergence import (
    DELIVERY,
    ENCODERS,
    Seed,
    assert_same,
    compare,
    shown,
    shown_version,
    shuffled,
    version_of,
    visible,
    without,
    write_project,
)

SEED = int(os.environ["KILL_SEED"])
ROUNDS = int(os.environ.get("KILL_ROUNDS") or 3)
KEYS, EVENTS_A_BATCH = 12, 40
NAME = "t0_shuffled"
MODELS = (NAME, f"{NAME}_history")
# What a table is committed by, in the order of the commits; the two of gold run at once.
INGEST = ("bronze.landed_files", "bronze.messages")
BUILD = ("silver.events", *(f"gold_storage.{model}" for model in MODELS))
PLAIN = tuple(f"gold_plain.{model}" for model in MODELS)
SCHEMAS = ("gold", "gold_storage", "gold_plain")
EVENTS = "select * from silver.events"
SUMMARIES = ("message_counts", "result_counts", "column_shapes")
KEPT = tuple(f"silver.{name}_kept" for name in SUMMARIES)
TABLES = {LAKEHOUSE: INGEST, DBT: (*BUILD, *PLAIN, *KEPT)}
NODES = ("topics", "events", "row_images", *SUMMARIES, *MODELS)
ACCOUNTS = (
    "message_accounting",
    "rejected_by_reason",
    "conflicting_changes",
    "conflicting_messages",
    "dropped_tables",
)
LONGEST = {LAKEHOUSE: 12, DBT: 30}  # seconds; random moments are drawn up to these


class Log(Seed):
    """A log and its delivery in a number of batches, in which no identity comes twice."""

    def __init__(self, batches):
        generator = random.Random(f"{SEED} kill")
        self.number, self.batches = 0, batches
        self.table = Table(partial=True)
        self.encoder = ENCODERS["dts_canal"]
        self.log, _ = random_log(self.table, generator, KEYS, batches * EVENTS_A_BATCH)
        self.model = model_of(self.table, self.log)
        self.delivered, known = [], set()
        for batch in shuffled(self.messages("shuffled"), batches, generator):
            self.delivered.append([row for row in batch if row[:2] not in known])
            known |= {row[:2] for row in batch}

    def __str__(self):
        return f"KILL_SEED={SEED} KILL_ROUNDS={ROUNDS} ({self.table})"

    def deliver(self, number, landing):
        """Write a batch below `landing`: a Parquet file, and the last part of it as lines."""
        topic, rows = self.topic("shuffled"), self.delivered[number]
        cut = len(rows) - len(rows) // 4
        write_messages(landing / f"{number:04}.parquet", [(topic, *row) for row in rows[:cut]])
        lines = landing / topic / f"{number:04}.jsonl"
        lines.parent.mkdir(exist_ok=True)
        lines.write_bytes(b"".join(value + b"\n" for _, _, value in rows[cut:]))

    def values(self):
        """Return all that is delivered, as often as it is."""
        return Counter(value for batch in self.delivered for _, _, value in batch)


def boundaries():
    """Return what the first and the second batch are killed at: the boundaries of commits."""
    events, state, history = BUILD
    if ROUNDS < 13:
        first, second = [("created", events)], [("after", INGEST[0]), ("before", history)]
    else:
        created = [events] if ROUNDS < 20 else [*reversed(INGEST), "silver.topics", *BUILD]
        first = [("created", table) for table in created]
        first += [(when, table) for table in INGEST for when in ("before", "after")]
        first += [("before", events), ("after", events), ("before", state)]
        second = [("after", state), ("before", history), ("after", history)]
        second += [(when, PLAIN[0]) for when in ("before", "after")]
    return [[planned(*place) for place in each] for each in (first, second)]


def planned(when, table):
    """Return the module and the Place of a kill; two of all leave Java to itself."""
    alone = (when, table) in {("after", INGEST[1]), ("before", BUILD[2])}
    return LAKEHOUSE if table in INGEST else DBT, Place(when, table, python_alone=alone)


def random_kills(generator, count):
    """Return kills of ingest, then kills of dbt, at random."""
    ingests = generator.randrange(count // 2 + 1)
    modules = [LAKEHOUSE] * ingests + [DBT] * (count - ingests)
    return [(module, random_place(generator, module)) for module in modules]


def random_place(generator, module):
    alone = generator.random() < 0.3
    if generator.random() < 0.4:
        delay = generator.uniform(1, LONGEST[module])
        return Place("moment", delay=delay, python_alone=alone)
    when, table = generator.choice(("before", "after")), generator.choice(TABLES[module])
    return Place(when, table, generator.choice((0, 0, 0.02, 0.1, 0.5)), alone)


class Undisturbed:
    """What a lakehouse holds whose commands were not killed."""

    def __init__(self, lakehouse):
        queries = [f"select * from {s}.{model}" for s in SCHEMAS for model in MODELS]
        self.rows = {sql: lakehouse.query(sql) for sql in (*queries, EVENTS)}
        self.duplicates = lakehouse.check_duplicates()

    def query(self, sql):
        return self.rows[sql]


class Victim:
    """A lakehouse whose commands are killed; `process` is for those that are not."""

    def __init__(self, home, project, landing, process):
        self.home, self.project, self.landing = home, project, landing
        self.process = process
        self.kills = []

    def command(self, module):
        if module == LAKEHOUSE:
            return LAKEHOUSE, "ingest", "files", self.landing
        return DBT, "build", "--resource-type", "seed", "--resource-type", "model", "-s", *NODES

    def kill(self, module, place):
        self.kills.append(kill_at(place, self.home, self.project, *self.command(module)))
        print(self.kills[-1], flush=True)
        return self.kills[-1]

    def open(self):
        return Lakehouse(self.home, self.project, self.process)

    def ingest(self):
        lakehouse = self.open()
        lakehouse.ingest(self.landing)
        lakehouse.stop()

    @property
    def died(self):
        """The kills that came before the command had ended."""
        return [kill for kill in self.kills if kill.reached]

    def hits(self):
        """Count the kills by where they found the command."""
        return Counter(f"{kill.reached} {kill.place.table}".strip() for kill in self.died)

    def is_missed(self, place):
        """Tell whether no kill has found the command there yet, though one can."""
        return self.is_possible(place) and not self.hits()[f"{place.when} {place.table}"]

    def is_possible(self, place):
        """Tell a table that is yet to be created from one that a kill at another has left."""
        return place.when != "created" or not all_commits(self.home).get(place.table)


@pytest.fixture(scope="module")
def killed(open_lakehouse, process, tmp_path_factory):
    """The lakehouse that was killed and then run, what one holds that was not, and their log."""
    generator = random.Random(f"{SEED} places")
    batches = boundaries()
    further = max(0, ROUNDS - sum(map(len, batches)))
    log = Log(len(batches) + (1 + further // 4 if further else 0))

    def change(project):
        write_project([log])(project)
        keep_always(project)

    lakehouse = open_lakehouse("unkilled", change=change)
    folder = tmp_path_factory.mktemp("killed")
    victim = Victim(folder / "lake", lakehouse.project, folder / "landing", process)
    for number in range(log.batches):
        log.deliver(number, folder / "undisturbed")
        lakehouse.ingest(folder / "undisturbed")
        lakehouse.dbt(*victim.command(DBT)[1:])
    unkilled = Undisturbed(lakehouse)
    lakehouse.stop()
    for number in range(log.batches):
        log.deliver(number, victim.landing)
        # A poll may come too late for a commit: what was missed is tried with the next batch.
        kills = [kill for batch in batches[:number] for kill in batch if victim.is_missed(kill[1])]
        if number < len(batches):
            kills += batches[number]
        else:
            left = max(0, ROUNDS - len(victim.died) - len(kills))
            kills += random_kills(generator, min(5, left))
        landed = False
        for module, place in kills:
            if module == LAKEHOUSE and victim.is_possible(place):
                kill = victim.kill(module, place)
                landed |= (kill.reached, place.table) == ("after", INGEST[-1])
        if not landed:
            victim.ingest()
        for module, place in kills:
            if module == DBT and victim.is_possible(place):
                victim.kill(module, place)
    finished = victim.open()
    finished.ingest(victim.landing)
    finished.dbt(*victim.command(DBT)[1:])
    hits = ", ".join(f"{count} {place}" for place, count in sorted(victim.hits().items()))
    alone = sum(kill.place.python_alone for kill in victim.died)
    SAID.append(
        f"kill anywhere: KILL_SEED={SEED}, {len(victim.kills)} rounds, {len(victim.died)} kills,"
        f" {alone} of them of Python alone: {hits}"
    )
    yield victim, finished, unkilled, log
    finished.stop()


def test_every_boundary_was_hit(killed):
    victim, _, _, _ = killed
    assert [place for batch in boundaries() for _, place in batch if victim.is_missed(place)] == []


def test_bronze_has_each_message_once(killed):
    _, finished, _, log = killed
    rows = finished.query("select topic, partition, offset, value from bronze.messages")
    delivered = log.values()
    assert Counter(bytes(row["value"]) for row in rows) == delivered
    identities = {(row["topic"], row["partition"], row["offset"]) for row in rows}
    assert len(identities) == len(rows) == delivered.total()


def test_conservation_holds(killed):
    _, finished, _, _ = killed
    finished.dbt("run", "-s", *ACCOUNTS)
    finished.dbt("test", "-s", "test_type:singular")


def test_gold_is_the_table_that_the_log_leaves(killed):
    _, finished, _, log = killed
    expected = [visible(log, row) for row in log.model.rows.values()]
    found = [shown(log, row) for row in finished.query(f"select * from gold.{NAME}")]
    compare(log, expected, found)


def test_history_is_what_the_rows_were(killed):
    _, finished, _, log = killed
    versions = [version for versions in log.model.versions.values() for version in versions]
    expected = [version_of(log, version) for version in versions]
    found = [
        shown_version(log, row) for row in finished.query(f"select * from gold.{NAME}_history")
    ]
    compare(log, expected, found)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_cell_is_that_of_the_lakehouse_that_was_not_killed(killed, schema, model):
    """But for what says which delivered copy was read, and by which commit."""
    _, finished, unkilled, log = killed
    found, expected = (
        [without(row, DELIVERY) for row in each.query(f"select * from {schema}.{model}")]
        for each in (finished, unkilled)
    )
    assert expected
    assert_same(log, found, expected)


def test_silver_is_that_of_the_lakehouse_that_was_not_killed(killed):
    """But for what hangs on the commit that brought a delivery."""
    _, finished, unkilled, log = killed
    assert finished.check_duplicates() == unkilled.duplicates
    assert all(check_summaries(finished))
    left_out = {"ingested_at", "loaded_at", "bronze_version", "is_late", "is_duplicate"}
    found, expected = (
        [without(row, left_out) for row in each.query(EVENTS)] for each in (finished, unkilled)
    )
    assert_same(log, found, expected)


@pytest.mark.long
def test_a_lost_metastore_is_made_again(killed):
    """What it knew is the tables' names: no run reads again what a table has read."""
    victim, finished, unkilled, log = killed
    finished.stop()
    shutil.rmtree(victim.home / "metastore_db")
    before = all_commits(victim.home)
    again = Lakehouse(victim.home, victim.project)
    try:
        again.dbt(*victim.command(DBT)[1:])
        after = all_commits(victim.home)
        assert {table for table in after if after[table] != before[table]} == set()
        for model in MODELS:
            found, expected = (
                [without(row, DELIVERY) for row in each.query(f"select * from gold.{model}")]
                for each in (again, unkilled)
            )
            assert_same(log, found, expected)
    finally:
        again.stop()
