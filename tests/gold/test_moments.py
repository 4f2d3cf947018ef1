"""One moment for all tables: no reader sees half of a transaction, whatever a run does."""

import json
import os
import random

import pytest
from bank import FORMATS, TABLES, Bank, complete_transactions
from conftest import copy_project
from encoders.project import remove_gold
from faults import DBT, LAKEHOUSE, Place, kill_at, run
from serving import Served
from shop import write_messages

from cdc_lakehouse.engine.complete_until import TABLE

PARTITIONS = 8
SEED = int(os.environ["SEED"])

# Of the soak: how many random banks, and how often a run is killed.
MOMENT_SEEDS = int(os.environ.get("MOMENT_SEEDS") or 1)
KILLS = int(os.environ.get("MOMENT_KILLS") or 6)

pytestmark = pytest.mark.full

MODEL = """{{{{ config(materialized='history') }}}}

select
    {{{{ change_columns() }}}},
    try_cast(image['id'] as bigint) as id,
    try_cast(image['value'] as bigint) as value
from {{{{ row_images('{name}') }}}} as row_images
"""
YAML = """
  - name: {name}_history
    description: A table of a bank. One row per row and version.
    constraints: [{{type: primary_key, columns: [id]}}]
    columns:
      - {{name: id, data_type: bigint, description: Number.}}
      - {{name: value, data_type: bigint, description: Value.}}
"""


# It folds what changed in a history from one moment to the next.
MART = """{{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id',
    file_format='delta', schema='marts') }}}}
select id, value, _change_type, _moment
from {{{{ changes_of(ref('{name}_history'), since=last_moment_read(), until=moment()) }}}}
"""


def write_project(project, formats, tables, idle_after=""):
    """Write a history for each table of each bank, and route the banks, each a source."""
    folder = project / "models" / "gold" / "bank"
    folder.mkdir(exist_ok=True)
    described = ""
    for kind in formats:
        for table in tables:
            name = f"{kind}_{table}"
            model = MODEL.format(name=f"{FORMATS[kind]}.{table}").replace(" as row_images\n", "\n")
            (folder / f"{name}_history.sql").write_text(model)
            described += YAML.format(name=name)
    marts = project / "models" / "marts"
    marts.mkdir(exist_ok=True)
    for name in (f"{next(iter(formats))}_{table}" for table in tables):
        (marts / f"{name}_mart.sql").write_text(MART.format(name=name))
    (folder / "_bank.yml").write_text(f"models:{described}")
    lines = [f"bank.{kind},{kind},,,,,{kind},{idle_after}" for kind in formats]
    header = "topic,format,time_zone,avro_schema,delete_image,database,source,idle_after"
    (project / "seeds" / "topics.csv").write_text("\n".join([header, *lines, ""]))


COLUMNS = ("name", "id", "value")


def all_rows(kind, tables):
    """The query of all rows of a bank at the moment, in one statement, as (table, id, value)."""
    selects = [f"select '{t}' as name, id, value from gold.{kind}_{t}_complete" for t in tables]
    return " union all ".join(selects)


def state_of(rows, tables=TABLES):
    return {tuple(row.values()) for row in rows if row["name"] in tables}


def seen(rows):
    """How many transactions a reader sees."""
    return sum(row["name"] == "transfers" for row in rows)


class Delivery:
    """The messages of banks in shuffled batches: partitions late, offsets out of order, copies."""

    def __init__(self, banks, batches, generator):
        self.delivered = {kind: [] for kind in banks}
        self.batches = [[] for _ in range(batches)]
        for kind, bank in banks.items():
            messages = bank.messages(kind, PARTITIONS)
            for place, (partition, offset, value, change) in enumerate(messages):
                # Most come in order, some sooner or later, some twice.
                due = place * batches / len(messages) + generator.gauss(0, 0.7)
                for _ in range(generator.choice((1, 1, 1, 2))):
                    batch = min(batches - 1, max(0, int(due)))
                    self.batches[batch].append((kind, partition, offset, value, change))
                    due += 1
        for batch in self.batches:
            generator.shuffle(batch)

    def rows(self, number):
        """Return a batch as it lands, and remember that it was delivered."""
        for kind, partition, offset, _, change in self.batches[number]:
            self.delivered[kind].append((partition, offset, change))
        return [(f"bank.{kind}", *row[:3]) for kind, *row in self.batches[number]]

    def complete(self, kind):
        """Return how many transactions are complete in what was delivered."""
        return complete_transactions(self.delivered[kind], PARTITIONS)


READ = ("events", "row_images", "result_counts", "message_counts", "gold.bank")
# What a commit is tested with; the soak takes all formats, also those without places.
FEW = ("debezium_json",)


@pytest.fixture(scope="module")
def lakehouse(open_lakehouse):
    tables = ("accounts", "transfers")
    return open_lakehouse("moments", change=lambda project: write_project(project, FEW, tables))


def check(bank, kind, rows, tables, at_least):
    """Compare what a reader saw with what the bank was after so many transactions."""
    found = seen(rows)
    state = {row for row in bank.state(found) if row[0] in tables}
    assert (kind, found, state_of(rows)) == (kind, found, state)
    assert found >= at_least, "the moment went back"
    return found


class Lab:
    """Banks whose messages are delivered in batches, and what readers have seen of them."""

    def __init__(self, lakehouse, landing, formats, tables, count, batches, seed=SEED):
        self.lakehouse, self.landing, self.tables = lakehouse, landing, tables
        # Maxwell tells of no TRUNCATE.
        has_statements = {kind: "sessions" in tables and kind != "maxwell" for kind in formats}
        self.banks = {
            kind: Bank(seed + n, count, has_statements[kind]) for n, kind in enumerate(formats)
        }
        self.delivery = Delivery(self.banks, batches, random.Random(seed))
        self.queries = [all_rows(kind, tables) for kind in self.banks]
        self.seen, self.reads = dict.fromkeys(self.banks, 0), 0
        lakehouse.dbt("seed")

    def land(self, number):
        write_messages(self.landing / f"{number}.parquet", self.delivery.rows(number))
        self.lakehouse.ingest(self.landing)

    def run(self, is_read=True):
        """Let dbt run, and readers read meanwhile; then the moment is as late as it can be."""
        rounds = []
        if is_read:
            rounds = self.lakehouse.read_beside(self.queries, "run", "-s", *READ)
        else:
            self.lakehouse.dbt("run", "-s", *READ)
        self.check([*rounds, self.read()])
        assert self.seen == self.complete()

    def read(self):
        return [self.lakehouse.query(query) for query in self.queries]

    def check(self, rounds):
        for at_once in rounds:
            for (kind, bank), rows in zip(self.banks.items(), at_once, strict=True):
                self.seen[kind] = check(bank, kind, rows, self.tables, self.seen[kind])
                self.reads += 1

    def complete(self):
        """How many transactions of each bank are complete in what has landed, or were before."""
        return {kind: max(seen, self.delivery.complete(kind)) for kind, seen in self.seen.items()}

    def sources(self):
        rows = self.lakehouse.query("select * from silver.complete_until")
        return {row["source"]: row for row in rows}


@pytest.fixture(scope="module")
def lab(lakehouse, tmp_path_factory):
    landing = tmp_path_factory.mktemp("moments-landing")
    return Lab(lakehouse, landing, FEW, ("accounts", "transfers"), 40, 3)


def test_no_reader_sees_half_a_transaction(lab):
    for number in range(2):
        lab.land(number)
        lab.run(is_read=number > 0)
    assert min(lab.seen.values()) > 1
    assert lab.reads > 4
    # Marts begin at this moment, and go on from it below.
    lab.lakehouse.dbt("run", "-s", "marts")


def test_the_moment_stays_until_all_tables_have_merged(lab):
    lab.land(2)
    before = lab.sources()
    lab.lakehouse.dbt("run", "-s", *READ, "--exclude", f"{FEW[0]}_transfers_history")
    lab.check([lab.read()])
    after = lab.sources()
    for kind in lab.banks:
        assert after[kind]["gold_place"] == before[kind]["gold_place"] < after[kind]["place"]
    log = (lab.lakehouse.home / "logs" / "dbt.log").read_text()
    assert f"The moment of gold stays: gold.{FEW[0]}_transfers_history has not merged" in log
    later = f"{after[FEW[0]]['complete_until']:%Y-%m-%d %H:%M:%S.%f}"
    asked = ("wait", "--source", FEW[0], "--until", later)
    code, said, _ = lab.lakehouse.command(*asked, "--silver")
    assert (code, said) == (0, f"{FEW[0]}: silver is complete until {later} UTC.\n")
    code, said, _ = lab.lakehouse.command(*asked)
    assert code == 1 and f"{FEW[0]}: gold is complete until" in said and "It waits for" in said
    lab.run()
    assert lab.lakehouse.command(*asked, "--timeout", "1")[0] == 0
    code, said, error = lab.lakehouse.command("wait", "--source", "debezium_jso")
    assert (code, error) == (
        2,
        "lakehouse: There is no source 'debezium_jso'. Did you mean debezium_json?\n",
    )


def test_a_table_as_of_the_moment_is_the_same(lab):
    for kind in lab.banks:
        for table in lab.tables:
            moment = (
                f"(select gold_complete_until from silver.complete_until where source = '{kind}')"
            )
            rows = f"select id, value from gold.{kind}_{table}"
            assert lab.lakehouse.query(
                f"{rows}_as_of({moment}) except all {rows}_complete"
            ) == lab.lakehouse.query(f"{rows}_complete except all {rows}_as_of({moment})")


def test_marts_fold_what_has_changed_since_a_moment(lab):
    """The tables that they hold are of one moment: the one before that of the run."""
    kind = FEW[0]
    first = lab.lakehouse.query(f"select max(_moment) as moment from marts.{kind}_transfers_mart")
    lab.lakehouse.dbt("run", "-s", "marts")
    (rows,) = [r for r, each in zip(lab.read(), lab.banks, strict=True) if each == kind]
    for table in lab.tables:
        mart = lab.lakehouse.query(
            f"select '{table}' as name, id, value from marts.{kind}_{table}_mart "
            "where _change_type <> 'delete'"
        )
        assert state_of(mart) == {row for row in state_of(rows) if row[0] == table}
    moments = lab.lakehouse.query(
        "select _moment as moment, count(*) as n "
        f"from marts.{kind}_transfers_mart group by 1 order by 1"
    )
    assert len(moments) == 2 and moments[0]["moment"] == first[0]["moment"]
    assert sum(each["n"] for each in moments) == lab.seen[kind]


def test_who_is_idle_holds_nobody_back(lab):
    """All has come: without anybody to wait for, the last transactions are complete, too."""
    topics = lab.lakehouse.project / "seeds" / "topics.csv"
    topics.write_text(topics.read_text().replace(f",{FEW[0]},\n", f",{FEW[0]},0 seconds\n"))
    lab.lakehouse.dbt("run", "-s", *READ)
    lab.check([lab.read()])
    assert lab.seen[FEW[0]] == 40
    row = lab.sources()[FEW[0]]
    assert (row["waits_for"], row["idle_partitions"]) == (None, row["partitions"])


def write_served(project):
    remove_gold(project)
    write_project(project, FEW, ("accounts", "transfers"))


def test_another_program_sees_whole_transactions_while_it_is_served(tmp_path):
    """It asks over Thrift while `lakehouse serve` lands what arrives, and builds."""
    kind, tables, batches = FEW[0], ("accounts", "transfers"), 2
    bank, served = Bank(SEED, 40), Served(tmp_path, change=write_served)
    delivery = Delivery({kind: bank}, batches, random.Random(SEED))
    served.arrive("0.parquet", delivery.rows(0))
    seen = [0]

    def is_complete():
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in served.ask(all_rows(kind, tables))]
        seen.append(check(bank, kind, rows, tables, seen[-1]))
        return seen[-1] == delivery.complete(kind)

    try:
        served.start("files", served.landing, "--every", "1s")
        served.wait(lambda: served.figures()["lakehouse_runs_total", "done"] >= 1)
        served.wait(is_complete)
        for number in range(1, batches):
            served.arrive(f"{number}.parquet", delivery.rows(number))
            served.wait(is_complete)
        assert seen[-1] > 10 and len(seen) > 4
        assert served.end() == 0
    finally:
        served.process.kill()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(SEED, SEED + MOMENT_SEEDS))
def test_random_banks_of_all_formats(open_lakehouse, tmp_path, seed):
    """Tables are emptied, altered and, half-way, built again, while readers read."""
    lakehouse = open_lakehouse(
        f"banks{seed}", change=lambda project: write_project(project, FORMATS, TABLES)
    )
    batches = 6
    lab = Lab(lakehouse, tmp_path, FORMATS, TABLES, 120, batches, seed)
    for number in range(batches):
        lab.land(number)
        lab.run(is_read=number > 0)
        if number == batches // 2:
            lakehouse.dbt("run", "-s", *READ, "--full-refresh")
            lab.check([lab.read()])
    assert min(lab.seen.values()) > 60


@pytest.mark.long
def test_a_run_that_is_killed_moves_nothing_by_half(tmp_path):
    """It is killed before and after each commit; the next run goes on."""
    tables, kind = ("accounts", "transfers"), FEW[0]
    project = copy_project(tmp_path / "project", lambda p: write_project(p, (kind,), tables))
    bank, home, landing = Bank(SEED, 60), tmp_path / "lake", tmp_path / "landing"
    delivery = Delivery({kind: bank}, KILLS + 1, random.Random(SEED))
    stored = [f"gold_storage.{kind}_{table}_history" for table in tables]
    places = [(when, table) for table in (TABLE, *stored) for when in ("before", "after")]
    generator, at_least = random.Random(SEED), 0
    assert run(home, project, DBT, "seed").process.returncode == 0
    for number in range(KILLS + 1):
        write_messages(landing / f"{number}.parquet", delivery.rows(number))
        assert run(home, project, LAKEHOUSE, "ingest", "files", landing).process.returncode == 0
        if number:
            place = Place(
                *(places[number - 1] if number <= len(places) else generator.choice(places))
            )
            kill_at(place, home, project, DBT, "run", "-s", *READ)
            at_least = read_alone(home, project, bank, kind, tables, at_least)
        assert run(home, project, DBT, "run", "-s", *READ).process.returncode == 0
        at_least = read_alone(home, project, bank, kind, tables, at_least)
    assert at_least > 30


def read_alone(home, project, bank, kind, tables, at_least):
    """Let a process of its own read the tables at the moment."""
    asked = run(home, project, LAKEHOUSE, "query", all_rows(kind, tables), "--json")
    assert asked.process.returncode == 0, asked.said
    told = json.loads(asked.said[asked.said.index("{\n") :])["rows"]
    rows = [
        dict(zip(COLUMNS, (name, int(key), int(value)), strict=True)) for name, key, value in told
    ]
    return check(bank, kind, rows, tables, at_least)
