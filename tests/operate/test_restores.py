"""Tables and folders that go back to what they were between runs: nothing is lost, or it is said.

What is decided is in test_past.py, for hundreds of histories; here Delta does what is done.
"""

import json
import shutil
from collections import Counter

import pytest
from conftest import _root
from laboratory import Laboratory, change, write_models

from cdc_lakehouse.errors import LakehouseError

pytestmark = pytest.mark.full

MODELS = {"things": "change_feed=true", "things_history": "materialized='history'"}
RUN = ("run", "-s", "+message_accounting", "row_images", *MODELS)
SUMMED = ("every_message_has_one_result", "accounting_adds_up", "identities_have_one_content")


def _forget_tables():
    """Forget what this Java has read of Delta's logs, as the next process has."""
    _root()._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    _root().catalog.clearCache()


class Things(Laboratory):
    """A lakehouse of things; each comes in a line file of its own, which has a partition."""

    names = ()

    def land(self, *names):
        """Let a file arrive for each name."""
        for name in names:
            self.names = (*self.names, name)
            row = {"id": str(len(self.names)), "name": name, "price": "1.00"}
            path = self.landing / "lab.things" / f"{name}.jsonl"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(change("INSERT", len(self.names), row)) + "\n")

    def ingest(self):
        return self.lakehouse.ingest(self.landing)

    def run(self, *names):
        """Land files and bring all up to date, and see that all is there once."""
        self.land(*names)
        self.ingest()
        self.lakehouse.dbt(*RUN)
        self.check()

    def refused(self, *names):
        """Land files, and return why silver does not read them."""
        self.land(*names)
        self.ingest()
        return " ".join(self.lakehouse.dbt(*RUN, fails=True))

    def rebuild(self):
        """Do what a refusal advises."""
        self.lakehouse.dbt("run", "--full-refresh", *RUN[1:])
        self.check()

    def check(self):
        query = self.lakehouse.query
        for table in ("gold.things", "gold.things_history", "gold_plain.things"):
            found = Counter(row["name"] for row in query(f"select name from {table}"))
            assert found == Counter(self.names), table
        events = query("select after['name'] as name from silver.events")
        assert Counter(row["name"] for row in events) == Counter(self.names)
        counts = "sum(messages) as messages, sum(row_changes) as changes"
        (summed,) = query(f"select {counts} from silver.message_accounting")
        assert set(summed.values()) == {len(self.names)}
        lost = "select * from bronze.messages m left anti join silver.events e using "
        assert query(lost + "(topic, partition, offset)") == []

    # What somebody does between runs.

    def folder(self, name):
        schema, _, table = name.partition(".")
        return self.lakehouse.home / "warehouse" / f"{schema}.db" / table

    def save(self, *names):
        """Copy folders of the warehouse aside."""
        for name in names:
            saved = self.landing.with_name("saved") / name
            shutil.rmtree(saved, ignore_errors=True)
            shutil.copytree(self.folder(name), saved)

    def put_back(self, *names):
        for name in names:
            shutil.rmtree(self.folder(name))
            shutil.copytree(self.landing.with_name("saved") / name, self.folder(name))
        self.lakehouse.process.submit(_forget_tables).result()

    def version(self, name):
        return max(int(path.stem) for path in self.folder(name).glob("_delta_log/*.json"))

    def restore(self, name, back=1):
        """Restore a table to the version before its latest, or an earlier one."""
        version = self.version(name) - back
        self.lakehouse.query(f"restore table {name} to version as of {version}")

    def move_away(self, name):
        """Do what is advised of a damaged commit without a backup."""
        commit = self.folder(name) / "_delta_log" / f"{self.version(name):020}.json"
        commit.unlink()
        commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)
        self.lakehouse.process.submit(_forget_tables).result()


def prepare(project):
    write_models(project, MODELS)
    for name in ("message_counts", "result_counts"):  # which then keep what they sum up each time
        model = project / "models" / "silver" / f"{name}.sql"
        text = model.read_text().replace("='summary'", "='summary', keeps_after_bytes=0")
        model.write_text(text)


@pytest.fixture(scope="module")
def things(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("restores", change=prepare)
    landing = tmp_path_factory.mktemp("restores") / "landing"
    landing.mkdir()
    things = Things(lakehouse, landing, MODELS)
    things.run("first", "second")
    return things


def test_a_restored_silver_reads_again_what_it_has_lost(things):
    things.run("third", "fourth")
    things.restore("silver.events")
    things.run("fifth")
    things.lakehouse.dbt("test", "-s", *SUMMED)


@pytest.mark.long
def test_a_silver_that_was_copied_back_does_so_too(things):
    things.save("silver.events")
    things.run("sixth")
    things.put_back("silver.events")
    things.run("seventh")


@pytest.mark.long
def test_gold_that_was_restored_or_copied_back_follows(things):
    things.save("gold_storage.things", "gold_storage.things_history", "gold_plain.things")
    things.run("eighth")
    things.restore("gold_storage.things")
    things.restore("gold_storage.things_history")
    things.run()
    things.restore("gold_plain.things")
    things.run("ninth")
    things.put_back("gold_storage.things", "gold_plain.things")
    things.run("tenth")


def test_a_bronze_from_a_backup_is_refused_until_silver_is_built_from_it(things):
    things.save("bronze.")
    things.run("eleventh")
    things.put_back("bronze.")
    said = things.refused("a twelfth, before it by name")
    assert "silver.events has read bronze.messages up to commit" in said
    assert "has another commit" in said and "run `dbt run --full-refresh`" in said
    code, _, error = things.lakehouse.command("expire", "--older-than", "1 days")
    assert code and "has another commit" in error
    things.rebuild()
    things.lakehouse.dbt("test", "-s", *SUMMED)


@pytest.mark.long
def test_files_of_a_restored_bronze_land_again_where_they_were(things):
    places = "select partition, cast(value as string) as value from bronze.messages"
    things.run("fourteenth", "fifteenth")
    before = things.lakehouse.query(places)
    things.restore("bronze.messages")
    things.ingest()
    after = things.lakehouse.query(places)
    assert sorted(map(str, after)) == sorted(map(str, before))
    assert "was restored to its version" in things.refused("sixteenth")
    things.rebuild()
    things.run("seventeenth")


@pytest.mark.long
def test_a_ledger_that_is_behind_bronze_is_refused(things):
    things.save("bronze.landed_files")
    things.run("eighteenth")
    ledger = things.lakehouse.home.with_name("ledger")
    shutil.copytree(things.folder("bronze.landed_files"), ledger)
    things.put_back("bronze.landed_files")
    with pytest.raises(LakehouseError, match=r"has recorded batch .* from one backup"):
        things.ingest()
    things.restore("bronze.landed_files")
    with pytest.raises(LakehouseError, match="Nothing was landed"):
        things.ingest()
    shutil.rmtree(things.folder("bronze.landed_files"))
    shutil.move(ledger, things.folder("bronze.landed_files"))
    things.lakehouse.process.submit(_forget_tables).result()
    things.run("nineteenth")


@pytest.mark.long
def test_what_is_advised_of_a_damaged_commit_loses_nothing(things):
    things.run("twentieth")
    things.move_away("bronze.messages")
    said = things.refused("twenty-first")
    assert "--full-refresh" in said
    things.rebuild()
    things.run("twenty-second")
    things.move_away("silver.events")
    things.run("twenty-third")


@pytest.mark.long
def test_summaries_are_right_whatever_goes_back(things):
    things.save("silver.events")
    things.run("twenty-fourth")
    things.put_back("silver.events")
    things.lakehouse.dbt("run", "-s", "+message_accounting")
    things.run("twenty-fifth")
    things.restore("silver.result_counts_kept")
    things.run("twenty-sixth")


@pytest.mark.long
def test_maintenance_is_no_going_back(things):
    things.lakehouse.command("maintain")
    things.run("twenty-seventh")
    things.run()
