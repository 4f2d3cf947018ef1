"""What other programs read of a lakehouse: tables that the option plain_table keeps for them."""

import json
import shutil
from datetime import datetime

import polars
import pytest
from conftest import _dbt
from deltalake import DeltaTable
from laboratory import Laboratory, change, thing, truncate, write_models
from shop import write_messages
from test_maintain import AT_ONCE, _maintain

from cdc_lakehouse.engine.plain_table import need_of

pytestmark = pytest.mark.full

OPTIONS = {
    "things": "plain_table=true",
    "things_history": "materialized='history', plain_table=true",
    "things_kept": "on_delete='flag', tombstone_retention='0 hours', plain_table=true",
}
LAST_MOMENT = 253_402_300_799_999  # milliseconds; the end of the year 9999
NEW = ["--select", "events", "row_images", *OPTIONS]


def folder(laboratory, model, schema="gold_plain"):
    return laboratory.lakehouse.home / "warehouse" / f"{schema}.db" / model


def by_deltalake(laboratory, model):
    """Return the rows of a plain table as deltalake reads them, as texts of JSON."""
    table = DeltaTable(folder(laboratory, model))
    return comparable(table.to_pyarrow_table().to_pylist())


def by_polars(laboratory, model):
    return comparable(polars.read_delta(str(folder(laboratory, model))).to_dicts())


def by_spark(laboratory, model):
    """Return the rows that gold shows, in the same form."""
    problems = "transform(_problems, p -> map('column', p.column, 'code', p.code, 'text', p.text))"
    rows = laboratory.lakehouse.query(
        f"select * except (_problems), {problems} as _problems from gold.{model}"
    )
    return comparable(rows)


def comparable(rows):
    def text(value):
        return str(value.replace(tzinfo=None) if isinstance(value, datetime) else value)

    return sorted(json.dumps(row, sort_keys=True, default=text) for row in rows)


def shown(laboratory, model):
    """Return the texts of a plain table's rows, after a look whether all readers see the same."""
    rows = by_spark(laboratory, model)
    assert by_deltalake(laboratory, model) == rows
    assert by_polars(laboratory, model) == rows
    return rows


def assert_right(laboratory, *expected):
    """Check the current rows by hand: id, name; and that every plain table is what gold shows."""
    rows = map(json.loads, shown(laboratory, "things"))
    assert sorted((row["id"], row["name"]) for row in rows) == list(expected)
    for model in ("things_history", "things_kept"):
        assert shown(laboratory, model)


def written(laboratory, model):
    """Return what the commits of a plain table did, the latest last, without what compacts it."""
    history = laboratory.lakehouse.query(f"describe history gold_plain.{model}")
    return [row["operation"] for row in sorted(history, key=lambda row: row["version"])]


@pytest.mark.parametrize(
    "marks, merged, step",
    [
        # What the copy shows; what the stored table had before the run, and has now.
        ((None, None, 5), (0, False), "replace"),  # a new table, or another stored one
        ((4, None, 5), (0, False), "replace"),  # the stored table was built again
        ((5, 5, 5), (0, False), "nothing"),
        ((4, 4, 5), (0, False), "mark"),
        ((4, 4, 5), (3, False), "merge"),
        ((4, 4, 5), (3, True), "replace"),  # a TRUNCATE
        ((3, 4, 5), (3, False), "replace"),  # a run was killed between the two
        ((4, 5, 5), (0, False), "replace"),  # and now nothing is new
        ((9, 5, 5), (0, False), "remake"),  # the stored table comes from a backup
    ],
)
def test_what_a_plain_table_needs(marks, merged, step):
    assert need_of(*marks, *merged) == step


@pytest.fixture(scope="module")
def laboratory(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("outside", change=lambda project: write_models(project, OPTIONS))
    return Laboratory(lakehouse, tmp_path_factory.mktemp("outside-landing"), OPTIONS)


def test_the_first_run_writes_tables_of_no_feature_that_a_reader_needs(laboratory):
    laboratory.deliver(
        change("INSERT", 100, *(thing(number, f"n{number}") for number in range(1, 7))),
        # Nanoseconds since 1970 end in the year 2262.
        change("UPDATE", 110, thing(1, "last"), old=[{"name": "n1"}], es=LAST_MOMENT),
        change("UPDATE", 120, thing(2, "n2", "many"), old=[{"price": "1.00"}]),
        change("DELETE", 130, thing(6, "n6")),
    )
    assert_right(laboratory, (1, "last"), (2, "n2"), (3, "n3"), (4, "n4"), (5, "n5"))
    rows = {row["id"]: row for row in map(json.loads, shown(laboratory, "things"))}
    assert rows[1]["_committed_at"] == "9999-12-31 23:59:59.999000"
    assert (rows[1]["price"], rows[2]["price"]) == ("1.00", None)
    assert [problem["text"] for problem in rows[2]["_problems"]] == ["many"]
    for model in OPTIONS:
        protocol = DeltaTable(folder(laboratory, model)).protocol()
        assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)


def test_a_run_writes_the_rows_of_the_keys_that_changed(laboratory):
    laboratory.deliver(
        change("UPDATE", 200, thing(3, "three"), old=[{"name": "n3"}]),
        change("UPDATE", 210, thing(8, "n4"), old=[{"id": "4"}]),
        change("DELETE", 220, thing(5, "n5")),
        change("INSERT", 230, thing(7, "new")),
        # Late: older than what is there.
        change("UPDATE", 105, thing(2, "late"), old=[{"name": "n2"}]),
    )
    assert_right(laboratory, (1, "last"), (2, "n2"), (3, "three"), (7, "new"), (8, "n4"))
    assert {tuple(written(laboratory, model)) for model in OPTIONS} == {
        ("CREATE OR REPLACE TABLE AS SELECT", "MERGE")
    }


@pytest.mark.long
def test_a_run_without_changes_of_the_table_makes_no_commit(laboratory):
    before = {model: written(laboratory, model) for model in OPTIONS}
    laboratory.deliver({**change("INSERT", 300, thing(1, "x")), "table": "others"})
    assert {model: written(laboratory, model) for model in OPTIONS} == before
    laboratory.lakehouse.dbt("run", *NEW)
    assert {model: written(laboratory, model) for model in OPTIONS} == before
    # It still has the position that the stored table had before, so it is merged.
    laboratory.deliver(change("INSERT", 310, thing(9, "nine")))
    assert written(laboratory, "things") == [*before["things"], "MERGE"]
    assert_right(
        laboratory, (1, "last"), (2, "n2"), (3, "three"), (7, "new"), (8, "n4"), (9, "nine")
    )
    # Their retention of no time was over.
    kept = map(json.loads, shown(laboratory, "things_kept"))
    assert not [row["id"] for row in kept if row["_is_deleted"]]


@pytest.mark.long
def test_a_truncate_takes_rows_whose_keys_no_message_names(laboratory):
    laboratory.deliver(truncate(400), change("INSERT", 410, thing(10, "ten")))
    assert_right(laboratory, (10, "ten"))


def _stopped():
    """Run dbt as if it were killed after the stored tables were written, before the plain ones."""
    from cdc_lakehouse.engine.plain_run import PlainRun

    def stop(*arguments):
        raise RuntimeError("killed here")

    steps, PlainRun.steps = PlainRun.steps, stop
    try:
        return _dbt(["run", *NEW])
    finally:
        PlainRun.steps = steps


@pytest.mark.long
def test_what_a_killed_run_has_not_written_the_next_one_writes(laboratory):
    text = json.dumps(change("INSERT", 500, thing(11, "stopped"))).encode()
    write_messages(laboratory.landing / "stopped.parquet", [("lab.things", 0, 1000, text)])
    laboratory.lakehouse.ingest(laboratory.landing)
    success, _, errors = laboratory.lakehouse.process.submit(_stopped).result()
    assert not success
    assert len(errors) == len(OPTIONS) and all("killed here" in error for error in errors)
    assert laboratory.rows("id, name") == [(10, "ten"), (11, "stopped")]
    assert len(by_deltalake(laboratory, "things")) == 1
    # Nothing is new for it.
    assert laboratory.lakehouse.dbt("run", *NEW)["things"] == "NOTHING NEW"
    assert_right(laboratory, (10, "ten"), (11, "stopped"))


@pytest.mark.long
def test_a_table_that_is_built_again_is_written_again(laboratory):
    laboratory.lakehouse.dbt("run", "--full-refresh", "--select", *OPTIONS)
    assert_right(laboratory, (10, "ten"), (11, "stopped"))
    operations = written(laboratory, "things")
    # The new stored table begins with the mark that the lost one had at first.
    shutil.rmtree(folder(laboratory, "things", "gold_storage"))
    laboratory.lakehouse.dbt("run", "--select", "things")
    assert_right(laboratory, (10, "ten"), (11, "stopped"))
    assert written(laboratory, "things") == [*operations, operations[0]]


@pytest.mark.long
def test_switching_the_option_builds_no_gold_table_and_drops_the_plain_one(laboratory):
    write_models(laboratory.lakehouse.project, {**OPTIONS, "things": ""})
    stored = len(laboratory.history())
    said = laboratory.lakehouse.dbt("run", *NEW)
    assert said["things"] == "NOTHING NEW"
    assert not folder(laboratory, "things").exists()
    names = laboratory.lakehouse.query("show tables in gold_plain")
    assert sorted(row["tableName"] for row in names) == ["things_history", "things_kept"]
    write_models(laboratory.lakehouse.project, OPTIONS)
    laboratory.lakehouse.dbt("run", *NEW)
    assert_right(laboratory, (10, "ten"), (11, "stopped"))
    assert len(laboratory.history()) == stored


@pytest.mark.long
def test_a_table_that_was_deleted_is_written_again(laboratory):
    shutil.rmtree(folder(laboratory, "things"))
    laboratory.lakehouse.query("drop table gold_plain.things_history")
    laboratory.lakehouse.dbt("run", *NEW)
    assert_right(laboratory, (10, "ten"), (11, "stopped"))


@pytest.mark.long
def test_maintenance_changes_nothing_that_a_reader_sees(laboratory):
    before = {model: shown(laboratory, model) for model in OPTIONS}
    report = laboratory.lakehouse.process.submit(_maintain, AT_ONCE).result()
    assert report.problems == []
    done = {table.table: table for table in report.tables}
    assert all(done[f"gold_plain.{model}"].files_deleted for model in OPTIONS)
    assert {model: shown(laboratory, model) for model in OPTIONS} == before
    for model in OPTIONS:
        assert DeltaTable(folder(laboratory, model)).protocol().min_reader_version == 1


@pytest.mark.long
def test_a_table_of_somebody_else_is_not_overwritten(laboratory):
    laboratory.lakehouse.query("drop table gold_plain.things")
    laboratory.lakehouse.query("create table gold_plain.things using delta as select 1 as mine")
    [error] = laboratory.lakehouse.dbt("run", *NEW, fails=True)
    assert "gold_plain.things was not made by the option plain_table of things" in error
    write_models(laboratory.lakehouse.project, {**OPTIONS, "things": ""})
    laboratory.lakehouse.dbt("run", *NEW)
    assert laboratory.lakehouse.query("select * from gold_plain.things") == [{"mine": 1}]
