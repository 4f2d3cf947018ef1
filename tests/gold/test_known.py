"""What was known at a moment about another: random logs, delivered late and twice, in batches.

After each batch the rows as of some moments are written down. At the end, when all batches have
come, a history has to give the same of what was known then. What was known is said a second time by
a plain Python table (`convergence.Model`) to which only the changes are applied that had come.

KNOWN_EVENTS (120) and KNOWN_KEYS (12) say how many changes a log has at least, and of how many
keys; KNOWN_MOMENTS (3) at how many moments one looks, CONVERGENCE_BATCHES (3) is the most batches.
"""

import json
import os
import random

import pytest
from convergence import REGION_AND_NUMBER, Table, model_of
from shop import DELIVERY, write_messages
from test_convergence import (
    SEED,
    Scenario,
    Seed,
    assert_same,
    compare,
    shown_version,
    version_of,
    without,
    write_project,
)

pytestmark = pytest.mark.full

EVENTS = int(os.environ.get("KNOWN_EVENTS") or 120)
KEYS = int(os.environ.get("KNOWN_KEYS") or 12)
# Rows that change places within one commit are followed by what is known now (decision 0077).
AWAY = ("away",)
SCENARIOS = (
    # A drop and a TRUNCATE are markers; changes of the key, values that do not fit.
    Scenario("dts_canal", 20, Table(REGION_AND_NUMBER, moves=AWAY, misfits=True, on_drop="apply")),
    # Partial images are completed from what was known of earlier changes.
    Scenario(
        "dts_shareplex",
        20,
        Table(partial=True, moves=AWAY, snapshots=False, track_columns=("name",)),
    ),
)
MOMENTS = int(os.environ.get("KNOWN_MOMENTS") or 3)
EACH = pytest.mark.parametrize("number", range(len(SCENARIOS)))


class Batched(Seed):
    """A log, what had come of it after each batch, and what its history said then."""

    def __init__(self, number):
        super().__init__(number, SCENARIOS, KEYS, EVENTS)
        self.history = f"gold.{self.name('shuffled')}_history"
        self.as_of = f"gold.{self.name('shuffled')}_as_of"
        self.as_known = f"gold.{self.name('shuffled')}_as_known"
        times = {c.committed_at for statement in self.log for c in statement if c.committed_at}
        moments = sorted(random.Random(f"{SEED} {number} moments").sample(sorted(times), MOMENTS))
        self.moments = [*moments, max(times) + 100_000]
        self.then = []

    def log_after(self, batch):
        """The statements, with those of their changes that had come by the end of a batch."""
        come = {row[2] for each in self.deliveries["shuffled"][: batch + 1] for row in each}
        return [
            [change for change, message in self.with_messages(statement) if message in come]
            for statement in self.log
        ]

    def with_messages(self, statement):
        """Each change of a statement with its message: Canal's has them all, SharePlex's one."""
        name, generator = self.name("shuffled"), random.Random(0)
        messages = [
            json.dumps(message, ensure_ascii=False).encode()
            for message in self.encoder.encode(name, self.table, statement, generator)
        ]
        if len(messages) < len(statement):
            messages *= len(statement)
        return zip(statement, messages, strict=True)


def moment_of(seconds):
    return f"timestamp_seconds({seconds})"


def at_moments(seed, query):
    """Return the rows that a function gives at each of the moments: {moment: rows}."""
    rows = seed.query(
        " union all ".join(f"select {m} as at, * from {query(moment_of(m))}" for m in seed.moments)
    )
    found = {moment: [] for moment in seed.moments}
    for row in rows:
        found[float(row.pop("at"))].append(row)
    return found


@pytest.fixture(scope="module")
def seeds(open_lakehouse, tmp_path_factory):
    """The logs, delivered batch by batch."""
    seeds = [Batched(number) for number in range(len(SCENARIOS))]
    write = write_project(seeds, ["shuffled"], {"_history": "history"})
    lakehouse = open_lakehouse("known", change=write)
    landing = tmp_path_factory.mktemp("known-landing")
    nodes = ["events", "row_images", *(f"{seed.name('shuffled')}_history" for seed in seeds)]
    for number in range(max(seed.batches for seed in seeds)):
        rows = [row for seed in seeds for row in seed.batch("shuffled", number)]
        write_messages(landing / f"{number}.parquet", rows)
        lakehouse.ingest(landing)
        if number == 0:
            lakehouse.dbt("seed")
        lakehouse.dbt("run", "-s", *nodes)
        for seed in seeds:
            seed.query, seed.lakehouse, seed.nodes = lakehouse.query, lakehouse, nodes
            [now] = seed.query("select current_timestamp() as now")
            rows = at_moments(seed, lambda moment, seed=seed: f"{seed.as_of}({moment})")
            seed.then.append((now["now"], rows))
    return seeds


def check(seed, left_out=()):
    """Compare what was known after each batch with what the history said then."""
    for batch, (now, then) in enumerate(seed.then):
        known = f"timestamp '{now}'"
        found = at_moments(seed, lambda at, known=known: f"{seed.as_known}({at}, {known})")
        for moment, expected in then.items():
            rows, expected = (
                [without(row, left_out) for row in rows] for rows in (found[moment], expected)
            )
            assert_same(f"{seed}, after batch {batch}, at {moment}", rows, expected)


@EACH
def test_what_was_known_is_what_the_history_said_then(seeds, number):
    seed = seeds[number]
    check(seed)
    # It is not always the same of one moment: changes of it have come later.
    at_one_moment = [{repr(then[m]) for _, then in seed.then} for m in seed.moments[:-1]]
    assert max(map(len, at_one_moment)) > 1


@EACH
def test_what_was_known_is_what_had_come_by_then(seeds, number):
    seed = seeds[number]
    for batch, (now, _) in enumerate(seed.then):
        model = model_of(seed.table, seed.log_after(batch))
        known = f"timestamp '{now}'"
        found = at_moments(seed, lambda at, known=known: f"{seed.as_known}({at}, {known})")
        for moment, rows in found.items():
            expected = [
                version_of(seed, version)
                for versions in model.versions.values()
                for version in versions
                if (version.valid_from is None or version.valid_from <= moment)
                and (version.is_current or (version.valid_to or moment) > moment)
            ]
            compare(seed, expected, [shown_version(seed, row) for row in rows])


@EACH
def test_nothing_was_known_before_and_everything_is_known_now(seeds, number):
    seed = seeds[number]
    valid = moment_of(seed.moments[-1])
    before = f"{seed.as_known}(valid => {valid}, known => timestamp '2020-01-01')"
    assert seed.query(f"select * from {before}") == []
    later = f"{seed.as_known}(known => timestamp '2126-01-01', valid => {valid})"
    rows = seed.query(f"select * from {later}")
    assert_same(seed, rows, seed.query(f"select * from {seed.as_of}(moment => {valid})"))
    columns = list(seed.query(f"select * from {seed.history} limit 1")[0])
    assert all(list(row) == columns for row in rows)  # a log may end with an empty table


def test_a_condition_on_the_key_is_one_on_the_stored_rows(seeds):
    seed = seeds[1]
    valid = moment_of(seed.moments[-1])
    rows = f"{seed.as_known}({valid}, current_timestamp()) where id = 5"
    [plan] = seed.query(f"explain select id, name from {rows}")
    lines = plan["plan"].splitlines()
    scans = [n for n, line in enumerate(lines) if "FileScan" in line]
    filters = [line for n in scans for line in lines[n - 4 : n] if "Filter" in line]
    assert any("= 5)" in line and "_known_at" in line for line in filters), plan["plan"]


@pytest.mark.long
def test_a_rebuild_of_silver_and_gold_changes_nothing_that_was_known(seeds):
    """But for which copy of a change the stored row names."""
    seeds[0].lakehouse.dbt("run", "--full-refresh", "-s", *seeds[0].nodes)
    [loaded] = seeds[0].query("select min(loaded_at) as first from silver.events")
    assert loaded["first"] > seeds[0].then[-1][0]
    for seed in seeds:
        check(seed, DELIVERY)


@pytest.mark.long
def test_a_history_from_before_it_knew_this_knows_what_silver_does(seeds):
    """Its table is built again with the column, and then its functions are made."""
    seed = seeds[0]
    stored = seed.history.replace("gold.", "gold_storage.")
    seed.query(f"drop function {seed.as_known}")
    seed.query(
        f"create or replace table {stored} using delta tblproperties"
        " ('cdc_lakehouse.kind' = 'history', 'cdc_lakehouse.partial_rows' = 'none')"
        f" as select * except (_known_at) from {stored}"
    )
    seed.lakehouse.dbt("run", "-s", *seed.nodes)
    [loaded] = seed.query("select max(loaded_at) as last from silver.events")
    valid = moment_of(seed.moments[-1])
    rows = f"select * from {seed.as_known}({valid}, timestamp '{loaded['last']}'"
    assert seed.query(f"{rows} - interval 1 day)") == []
    assert_same(seed, seed.query(f"{rows})"), seed.query(f"select * from {seed.as_of}({valid})"))
