"""Gold follows tables whose columns change, with `lakehouse sync` between runs and no run by hand.

Random histories in the words of MySQL, Oracle and PostgreSQL (`changing_tables`): of half of the
tables policies apply every change, of the others all is reported until the end. SEED chooses the
histories, CHANGING_TABLES (1) how many each database and policy have; `make soak` has 9.
"""

import json
import os
import random
from itertools import groupby

import pytest
from changing_tables import DATABASES, ROUTES
from conftest import SAID
from encoders.project import remove_gold
from shop import write_messages

from cdc_lakehouse.engine.columns import formerly_of
from cdc_lakehouse.engine.source_tables import SourceTable
from cdc_lakehouse.gold.add_table import Gold

pytestmark = pytest.mark.full

SEED = os.environ["SEED"]
TABLES = int(os.environ.get("CHANGING_TABLES") or 1)
ROUNDS, CHANGES = 4, 12
VIEWS = ("row_images", "schema_changes", "column_shapes", "source_columns")
HEADER = "pattern,materialization,add,widen,rename,drop\n"
APPLY, REPORT = "apply,apply,apply,keep", "report,report,report,report"


def prepare(project):
    remove_gold(project)
    topics = project / "seeds" / "topics.csv"
    topics.write_text(topics.read_text() + ROUTES)


def lines(tables, policy):
    """Lines of seeds/gold_tables.csv; every other table has a history, too."""
    kinds = ("history", "current_state")
    return "".join(
        f"{table.source}.{table.name},{kinds[number % 2]},{policy}\n"
        for number, table in enumerate(tables)
    )


def versions(life, shown):
    """The states of a row from its insert to its delete by columns of gold, none twice in a row."""
    states = [{name: state.get(column) for column, name in shown.items()} for state in life]
    return [state for state, _ in groupby(states)]


class Followed:
    """A lakehouse that lands what happens to tables, runs dbt and syncs."""

    def __init__(self, lakehouse, landing, followed, reported):
        self.lakehouse, self.landing = lakehouse, landing
        self.followed, self.reported = followed, reported
        self.seed = lakehouse.project / "seeds" / "gold_tables.csv"
        self.sent = {}
        self.random = random.Random(SEED)
        lakehouse.dbt("seed")

    def run(self):
        """Land what is new, in two files out of order, and run all models, as a schedule does."""
        rows = []
        for table in (*self.followed, *self.reported):
            for topic, value in table.messages:
                self.sent[topic] = offset = self.sent.get(topic, -1) + 1
                rows.append((topic, 0, offset, value))
            table.messages.clear()
        self.random.shuffle(rows)
        place = sum(self.sent.values())
        for name, part in (("a", rows[::2]), ("b", rows[1::2])):
            if part:
                write_messages(self.landing / f"{place}{name}.parquet", part)
        self.lakehouse.ingest(self.landing)
        self.lakehouse.dbt("run", "-s", "events", *VIEWS, "path:models/gold")

    def sync(self, *options):
        """Run `lakehouse sync`; return its findings that are left to a person."""
        code, said, errors = self.lakehouse.command("sync", "--json", *options, is_alone=True)
        assert code == 0 or "--check" in options, errors
        return [finding for finding in json.loads(said)["findings"] if finding["to_do"]]

    def models(self, table):
        """The models that read a table, the current one first."""
        names = SourceTable(*(*table.source.split("."), None)[:2], table.name)
        read = [m for m in Gold(self.lakehouse.project).models.values() if m.reads_table(names)]
        return sorted(read, key=lambda model: model.is_history)

    def assert_gold_is(self, table):
        """Compare gold with what the history leaves, by the columns of the source."""
        for model in self.models(table):
            read = {
                name: {*model.columns[name], *formerly_of(said)}
                for name, said in model.definitions.items()
            }
            shown = {}
            for column in table.all_columns:
                gold = [name for name, names in read.items() if names & {*column.names}]
                if column in table.columns and column.names:
                    assert len(gold) == 1, (table.name, column, read)
                if gold:
                    shown[id(column)] = gold[0]
            texts = ", ".join(f"cast({name} as string) as {name}" for name in shown.values())
            rows = self.lakehouse.query(
                f"select id, {texts} from gold.{model.name} order by id, _sequence"
            )
            found = {}
            for row in rows:
                found.setdefault(row.pop("id"), []).append(row)
            lives = table.lives if model.is_history else {n: [[s]] for n, s in table.rows.items()}
            expected = {
                number: [state for life in of_row for state in versions(life, shown)]
                for number, of_row in lives.items()
            }
            assert found == expected, (f"SEED={SEED}", table.name, model.name)
            # A row that was written after a column was dropped keeps its last value, and says so.
            kept = {shown[id(column)] for column in table.dropped if id(column) in shown}
            problems = f"select inline(_problems) from gold.{model.name}"
            named = {(row["column"], row["code"]) for row in self.lakehouse.query(problems)}
            assert named <= {(name, "column_gone") for name in kept}, (f"SEED={SEED}", model.name)


@pytest.fixture(scope="module")
def source(open_lakehouse, tmp_path_factory):
    """Tables after some rounds of changes, each with a run and a sync behind it."""
    lakehouse = open_lakehouse("changing", change=prepare)
    followed, reported = (
        [
            database(f"{policy}_{number}", f"{SEED} {policy} {number}")
            for number in range(TABLES)
            for database in DATABASES
        ]
        for policy in ("followed", "reported")
    )
    source = Followed(lakehouse, tmp_path_factory.mktemp("changing"), followed, reported)
    source.seed.write_text(HEADER + lines(followed, APPLY) + lines(reported, APPLY))
    source.run()
    assert source.sync() == []  # adds all tables
    source.seed.write_text(HEADER + lines(followed, APPLY) + lines(reported, REPORT))
    names = [f"{table.source}.{table.name}" for table in followed]
    for _ in range(ROUNDS):
        for table in (*followed, *reported):
            table.happen(CHANGES)
        source.run()
        left = [finding for finding in source.sync() if finding["table"] in names]
        assert left == [], f"SEED={SEED}"
    source.run()
    return source


def test_with_policies_gold_is_what_the_source_holds_and_no_one_runs_anything(source):
    for table in source.followed:
        source.assert_gold_is(table)
    columns = [column for table in source.followed for column in table.all_columns]
    SAID.append(
        f"changing tables, SEED={SEED}: {2 * len(source.followed)} tables; of the followed half"
        f" {len(columns)} columns, {sum(len(c.names) > 1 for c in columns)} renamed,"
        f" {sum(c.is_widened for c in columns)} widened,"
        f" {sum(len(table.dropped) for table in source.followed)} dropped"
    )


def test_without_policies_each_change_is_named(source):
    named = {(f["table"], f["column"]): f["kind"] for f in source.sync("--check")}
    for table in source.reported:
        [*_, model] = source.models(table)
        read = {name for names in model.columns.values() for name in names}
        for column in table.columns:
            kind = named.get((f"{table.source}.{table.name}", column.name))
            if column.names and not read & {*column.names}:
                assert kind == "add", (f"SEED={SEED}", table.name, column)
            elif column.names[-1:] == [column.name] and column.name not in read:
                assert kind == "rename", (f"SEED={SEED}", table.name, column)
            elif column.is_widened and column.name in read:
                assert kind in ("widen", None), (f"SEED={SEED}", table.name, column)


def test_without_policies_nothing_is_lost(source):
    source.seed.write_text(HEADER + lines(source.followed + source.reported, APPLY))
    assert source.sync() == [], f"SEED={SEED}"
    source.run()
    for table in source.reported:
        source.assert_gold_is(table)
