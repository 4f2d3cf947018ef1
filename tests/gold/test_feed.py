"""The change feed of gold tables: what changes_of tells, and marts that fold it."""

import json
import os
import random
import re
import shutil

import pyarrow as pa
import pytest
from conftest import PROJECT
from deltalake import DeltaTable
from laboratory import COLUMNS, YAML, Laboratory, change, thing, truncate, write_models
from shop import write_messages
from test_erase import files_that_hold
from test_gold_table import model
from test_maintain import AT_ONCE, _maintain
from test_outside import folder

from cdc_lakehouse.delta.feed import first_after_purge, first_lost
from cdc_lakehouse.engine.change_feed import (
    FeedRows,
    Position,
    columns_lacking,
    has_feed,
    kind_of_reading,
    refuse_without_option,
)
from cdc_lakehouse.errors import LakehouseError

pytestmark = pytest.mark.full

OPTIONS = {
    "things": "change_feed=true",
    "things_history": "materialized='history', change_feed=true",
    "things_kept": "on_delete='flag', change_feed=true",
}
# The mart that docs/feed.md shows, of the laboratory's tables.
EXAMPLE = re.search(
    r"^```sql\n(\{\{ config\(materialized.*?)^```$",
    (PROJECT / "docs" / "feed.md").read_text(),
    re.MULTILINE | re.DOTALL,
)[1]
EXAMPLE = EXAMPLE.replace("status", "name").replace("total", "price")
MARTS = {f"{name}_by_name": EXAMPLE.replace("'orders'", f"'{name}'") for name in OPTIONS}
# Every change as it is told, one after the other.
LOG = """{{{{ config(materialized='incremental', file_format='delta', schema='marts') }}}}
select id, name, cast(price as string) as price, _change_type, _before.name as name_before,
    {further} as further, _commit_version, _feed
from {{{{ changes_of(ref('{name}'), since=last_change_read()) }}}}
"""
FURTHER = {
    "things": "cast(null as boolean)",
    "things_history": "is_current",
    "things_kept": "_is_deleted",
}
LOGS = {f"{name}_log": LOG.format(name=name, further=FURTHER[name]) for name in OPTIONS}
ALL = [*OPTIONS, *MARTS, *LOGS]
# What a commit is tested with; a flagged delete is one of the long tests.
QUICK = ("things", "things_history")
FEW = [name + suffix for name in QUICK for suffix in ("", "_by_name", "_log")]
FEED = {"delta.enableChangeDataFeed": "true", "cdc_lakehouse.feed": "f1"}


# Without Spark.


def test_the_rows_of_a_feed_are_those_that_the_model_shows():
    rows = FeedRows(model())
    assert rows.all_names.startswith("`id`, `name`, `_sequence`, ")
    assert "_fingerprint" not in rows.all_names
    assert rows.identity == "struct(`id`)"
    assert rows.values("a.") == "struct(a.`id`, a.`name`)"


def test_versions_of_a_history_are_told_apart_by_their_messages():
    rows = FeedRows(model("history"))
    assert rows.identity == "struct(`id`, `_topic`, `_partition`, `_offset`, `_row_number`)"
    assert rows.paired_by == "`id`, valid_from"
    assert "_is_version" not in rows.all_names
    assert rows.values("a.").endswith("a.`valid_from`, a.`valid_to`, a.`is_current`)")


def test_a_flag_that_was_not_there_is_no_change():
    rows = FeedRows(model(on_delete="flag"))
    assert rows.all_names.endswith("`_is_deleted`")
    assert rows.values("a.").endswith("coalesce(a.`_is_deleted`, false))")


@pytest.mark.parametrize(
    ("stored", "shown", "lacking"),
    [
        ({"a": "int"}, {"a": "int"}, []),
        ({"a": "int"}, {"b": "int", "a": "int"}, ["b"]),
        ({"a": "int", "b": "int"}, {"a": "int"}, None),
        ({"a": "int"}, {"a": "long", "b": "int"}, None),
    ],
)
def test_a_feed_goes_on_where_columns_are_only_added(stored, shown, lacking):
    assert columns_lacking(stored, shown) == lacking


@pytest.mark.parametrize(
    ("since", "kind"),
    [
        (None, "snapshot"),
        (Position(6, "f1"), "changes"),
        (Position(6), "changes"),
        (Position(7, "f1"), "nothing"),
    ],
)
def test_what_a_consumer_reads(since, kind):
    assert kind_of_reading(since, FEED, 7, "gold_plain.things", "mart") == kind


@pytest.mark.parametrize("since", [Position(8, "f1"), Position(6, "f0")])
def test_a_feed_that_has_begun_again_is_noticed(since):
    said = (
        r"mart cannot go on .*has begun again.* commit [68]\. Run `dbt run --full-refresh -s mart`"
    )
    with pytest.raises(LakehouseError, match=said):
        kind_of_reading(since, FEED, 7, "gold_plain.things", "mart")


def test_a_table_without_a_feed_is_refused():
    off = FEED | {"delta.enableChangeDataFeed": "false"}
    assert (has_feed(FEED), has_feed(off), has_feed({})) == (True, False, False)
    with pytest.raises(LakehouseError, match=r"no change feed yet.* `dbt run -s things`"):
        kind_of_reading(None, off, 7, "gold_plain.things", "mart")
    with pytest.raises(LakehouseError, match=r"Set change_feed=true in config\(\) of things"):
        refuse_without_option(model(), "mart")


def test_changes_whose_files_are_gone_are_noticed(tmp_path):
    log = tmp_path / "_delta_log"
    log.mkdir()
    (tmp_path / "_change_data").mkdir()

    def commit(number, *actions):
        lines = "\n".join(map(json.dumps, [{"commitInfo": {}}, *actions]))
        (log / f"{number:020}.json").write_text(lines)

    def file(name, kind, changes=True):
        (tmp_path / name).touch()
        return {kind: {"path": name, "dataChange": changes}}

    commit(3, file("a b", "add") | {}, {"remove": {"path": "gone", "dataChange": False}})
    changed = {"cdc": {"path": "_change_data/c", "dataChange": False}}
    commit(4, file("d", "add"), changed, {"remove": {"path": "gone", "dataChange": True}})
    commit(5)
    assert first_lost(tmp_path, 3, 5) == 4
    (tmp_path / "_change_data" / "c").touch()
    assert first_lost(tmp_path, 3, 5) is None
    assert first_lost(tmp_path, 2, 5) == 2
    (tmp_path / "a b").unlink()
    assert first_lost(tmp_path, 3, 5) == 3
    assert first_lost(tmp_path, 6, 5) is None


@pytest.mark.parametrize(("first", "then"), [(4, 4), (5, 5), (6, 9), (8, 9), (9, 9), (10, 10)])
def test_commits_of_a_purge_are_passed_over(first, then):
    assert first_after_purge("5 8", first) == then
    assert first_after_purge(None, first) == first


# On Spark.


def write_project(project, options=OPTIONS, columns=COLUMNS, yaml=YAML):
    write_models(project, options, columns, yaml)
    marts = project / "models" / "marts"
    marts.mkdir(exist_ok=True)
    for name, sql in (MARTS | LOGS).items():
        (marts / f"{name}.sql").write_text(sql)


@pytest.fixture(scope="module")
def laboratory(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("feed", change=write_project)
    made = Laboratory(lakehouse, tmp_path_factory.mktemp("feed-landing"), OPTIONS)
    write_project(lakehouse.project)
    return made


def told(laboratory, name="things"):
    """Return the changes of the latest commit that a consumer was told of."""
    columns, log = "id, name, price, _change_type, name_before, further", f"marts.{name}_log"
    rows = laboratory.lakehouse.query(
        f"select {columns} from {log} where _commit_version = (select max(_commit_version) from"
        f" {log}) order by id, name, _change_type"
    )
    return [tuple(row.values()) for row in rows]


def counted(laboratory):
    """Return how many changes the consumers were told of since they began."""
    counts = (f"select '{log}' as log, count(*) as n from marts.{log}" for log in LOGS)
    return laboratory.lakehouse.query(" union all ".join(counts))


def assert_marts_are_right(laboratory, names=OPTIONS):
    for name in names:
        direct = (
            "select coalesce(name, 'unknown') as name, count(*) as number,"
            f" cast(sum(coalesce(price, 0)) as decimal(20, 2)) as price from gold.{name} group by 1"
        )
        mart = f"select name, number, price from marts.{name}_by_name"
        differences = laboratory.lakehouse.query(
            f"({direct} except all ({mart})) union all"
            f" (({mart} where number <> 0 or price <> 0) except all {direct})"
        )
        assert differences == [], name
        same = f"(select * from gold.{name}) except all (select * from gold_plain.{name})"
        assert laboratory.lakehouse.query(same) == []


def test_a_consumer_begins_with_every_row(laboratory):
    laboratory.deliver(
        change("INSERT", 100, *(thing(number, f"n{number % 2}") for number in range(1, 6))),
        change("INSERT", 105, thing(6, None)),
        models=FEW,
    )
    rows = told(laboratory)
    assert [row[0] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert {row[3:] for row in rows} == {("insert", None, None)}
    assert_marts_are_right(laboratory, QUICK)


def test_a_change_is_told_once_and_only_if_it_changes_something(laboratory):
    messages = (
        change("UPDATE", 200, thing(1, "one"), old=[{"name": "n1"}]),
        change("UPDATE", 210, thing(1, "two"), old=[{"name": "one"}]),
        # What it sets is there.
        change("UPDATE", 220, thing(2, "n0"), old=[{"name": "n0"}]),
        change("DELETE", 230, thing(3, "n1")),
        change("UPDATE", 240, thing(7, "n0"), old=[{"id": "4"}]),
        change("UPDATE", 250, thing(6, "six", "2.00"), old=[{"name": None, "price": "1.00"}]),
        # Late: older than what is there.
        change("UPDATE", 95, thing(5, "late"), old=[{"name": "x"}]),
    )
    laboratory.deliver(*messages, *messages[:4], models=FEW)
    assert told(laboratory) == [
        (1, "two", "1.00", "update", "n1", None),
        (3, "n1", "1.00", "delete", "n1", None),
        (4, "n0", "1.00", "delete", "n0", None),
        (6, "six", "2.00", "update", None, None),
        (7, "n0", "1.00", "insert", None, None),
    ]
    # Another reader of Delta's feed sees the rows before and after.
    of_delta = DeltaTable(folder(laboratory, "things")).load_cdf(starting_version=1)
    rows = pa.table(of_delta).select(["id", "name", "_change_type"]).to_pylist()
    assert {tuple(row.values()) for row in rows if row["id"] in (3, 6)} == {
        (3, "n1", "delete"),
        (6, None, "update_preimage"),
        (6, "six", "update_postimage"),
    }
    # Of number 1: the version that has ended, the one between, and the current one.
    versions = [row[1:] for row in told(laboratory, "things_history") if row[0] == 1]
    assert versions == [
        ("n1", "1.00", "update", "n1", False),
        ("one", "1.00", "insert", None, False),
        ("two", "1.00", "insert", None, True),
    ]
    assert 2 not in {row[0] for row in told(laboratory, "things_history")}
    assert_marts_are_right(laboratory, QUICK)


def test_a_run_without_news_adds_nothing(laboratory):
    read = [f"select * from marts.{name}" for name in FEW if name not in QUICK]
    before = [laboratory.lakehouse.query(sql) for sql in read]
    laboratory.deliver(change("UPDATE", 200, thing(1, "one"), old=[{"name": "n1"}]), models=FEW)
    assert [laboratory.lakehouse.query(sql) for sql in read] == before


class Source:
    """A table whose rows are changed at random, and the messages of it."""

    def __init__(self, seed, position):
        self.random, self.position, self.rows = random.Random(seed), position, {}

    def statement(self):
        self.position += 1
        key, at = self.random.randrange(20, 40), self.position
        new = thing(key, self.random.choice(["a", "b", None]), self.random.choice(["1.50", "9.25"]))
        old = self.rows.get(key)
        if old is None:
            self.rows[key] = new
            return change("INSERT", at, new)
        if self.random.random() < 0.3:
            return change("DELETE", at, self.rows.pop(key))
        if self.random.random() < 0.3 and (free := set(range(20, 40)) - self.rows.keys()):
            new["id"] = str(min(free))
            del self.rows[key]
        self.rows[int(new["id"])] = new
        return change("UPDATE", at, new, old=[{n: old[n] for n in old if old[n] != new[n]}])


def test_marts_are_right_after_every_batch_of_a_random_history(laboratory):
    source = Source(int(os.environ["SEED"]), 1000)
    messages = [source.statement() for _ in range(60)]
    batches = [[], []]
    for number, message in enumerate(messages):
        first = min(1, number // 30 + (source.random.random() < 0.2))
        for batch in {first, *([1] if source.random.random() < 0.2 else [])}:
            batches[batch].append(message)
    for batch in batches:
        source.random.shuffle(batch)
        laboratory.deliver(*batch, models=FEW)
        assert_marts_are_right(laboratory, QUICK)


@pytest.mark.long
def test_a_flagged_delete_is_an_update(laboratory):
    laboratory.deliver(change("INSERT", 1900, thing(45, "kept")), models=ALL)
    laboratory.deliver(change("DELETE", 1910, thing(45, "kept")), models=ALL)
    assert told(laboratory, "things_kept") == [(45, "kept", "1.00", "update", "kept", True)]
    assert_marts_are_right(laboratory)


@pytest.mark.long
def test_a_rebuild_is_no_change(laboratory):
    before = counted(laboratory)
    laboratory.lakehouse.dbt("run", "--full-refresh", "-s", *OPTIONS)
    laboratory.lakehouse.dbt("run", "-s", *MARTS, *LOGS)
    assert counted(laboratory) == before
    laboratory.deliver(change("INSERT", 2000, thing(50, "after")), models=ALL)
    assert told(laboratory) == [(50, "after", "1.00", "insert", None, None)]
    assert_marts_are_right(laboratory)


@pytest.mark.long
def test_a_part_of_the_sources_counts_as_nothing_read(laboratory):
    before = counted(laboratory)
    text = json.dumps(change("INSERT", 2010, thing(51, "whole"))).encode()
    write_messages(laboratory.landing / "part.parquet", [("lab.things", 0, 5000, text)])
    laboratory.offset = 5001
    laboratory.lakehouse.ingest(laboratory.landing)
    laboratory.lakehouse.dbt("run", "--empty", "-s", *MARTS, *LOGS)
    assert counted(laboratory) == before
    laboratory.lakehouse.dbt("run", "-s", "events", *OPTIONS)
    laboratory.lakehouse.dbt("run", "--empty", "-s", *MARTS, *LOGS)
    assert counted(laboratory) == before
    laboratory.lakehouse.dbt("run", "-s", *MARTS, *LOGS)
    assert_marts_are_right(laboratory)


@pytest.mark.long
def test_what_a_killed_run_has_not_written_the_next_one_tells(laboratory):
    stopped = json.dumps(change("UPDATE", 2020, thing(51, "x"), old=[{"name": "whole"}])).encode()
    write_messages(laboratory.landing / "stopped.parquet", [("lab.things", 0, 5100, stopped)])
    laboratory.offset = 5101
    laboratory.lakehouse.ingest(laboratory.landing)
    success, *_ = laboratory.lakehouse.process.submit(_stopped).result()
    assert not success
    laboratory.lakehouse.dbt("run", "-s", *ALL)
    assert told(laboratory) == [(51, "x", "1.00", "update", "whole", None)]
    assert_marts_are_right(laboratory)


def _stopped():
    """Run dbt as if it were killed after the stored tables were written, before the plain ones."""
    from conftest import _dbt

    from cdc_lakehouse.engine.plain_run import PlainRun

    def stop(*arguments):
        raise RuntimeError("killed here")

    steps, PlainRun.steps = PlainRun.steps, stop
    try:
        return _dbt(["run", "-s", "events", *OPTIONS])
    finally:
        PlainRun.steps = steps


@pytest.mark.long
def test_a_truncate_deletes_each_row(laboratory):
    rows = len(laboratory.rows())
    laboratory.deliver(truncate(3000), change("INSERT", 3010, thing(60, "new")), models=ALL)
    types = [row[3] for row in told(laboratory)]
    assert (types.count("delete"), types.count("insert")) == (rows, 1)
    assert_marts_are_right(laboratory)


@pytest.mark.long
def test_a_feed_goes_on_with_more_columns(laboratory):
    columns = {"id": COLUMNS["id"], "note": "image['note']"} | COLUMNS
    noted = "      - {{name: note, data_type: string, description: Text.}}\n"
    yaml = YAML.replace("      - {{name: name", noted + "      - {{name: name")
    write_project(laboratory.lakehouse.project, columns=columns, yaml=yaml)
    before = counted(laboratory)
    laboratory.lakehouse.dbt("run", "-s", *ALL)
    assert counted(laboratory) == before
    laboratory.deliver(
        change("UPDATE", 3020, thing(60, "new") | {"note": "n"}, old=[{"note": None}]), models=ALL
    )
    assert [row[:4] for row in told(laboratory)] == [(60, "new", "1.00", "update")]
    assert_marts_are_right(laboratory)
    # Without them again, it begins again.
    write_project(laboratory.lakehouse.project)
    errors = laboratory.lakehouse.dbt("run", "-s", *ALL, fails=True)
    assert len(errors) == len(MARTS) + len(LOGS)
    assert all("its feed has begun again" in error for error in errors)
    laboratory.lakehouse.dbt("run", "--full-refresh", "-s", *MARTS, *LOGS)
    assert_marts_are_right(laboratory)


@pytest.mark.long
def test_switching_it_off_and_on_builds_no_gold_table_and_begins_a_feed(laboratory):
    stored = len(laboratory.history())
    write_project(laboratory.lakehouse.project, {**OPTIONS, "things": "plain_table=true"})
    [*errors] = laboratory.lakehouse.dbt("run", "-s", "things", "things_by_name", fails=True)
    assert "things_by_name reads the changes of things, which keeps no change feed" in errors[0]
    write_project(laboratory.lakehouse.project)
    errors = laboratory.lakehouse.dbt("run", "-s", "things", "things_by_name", fails=True)
    assert "its feed has begun again" in errors[0]
    laboratory.lakehouse.dbt("run", "--full-refresh", "-s", "things_by_name", "things_log")
    assert_marts_are_right(laboratory)
    assert len(laboratory.history()) == stored
    # A table that is made again counts its commits again.
    shutil.rmtree(folder(laboratory, "things"))
    errors = laboratory.lakehouse.dbt("run", "-s", "things", "things_by_name", fails=True)
    assert "its feed has begun again" in errors[0]
    laboratory.lakehouse.dbt("run", "--full-refresh", "-s", "things_by_name", "things_log")
    assert_marts_are_right(laboratory)


@pytest.mark.long
def test_maintenance_takes_changes_that_nobody_has_read_in_time(laboratory):
    laboratory.deliver(change("UPDATE", 4000, thing(60, "z"), old=[{"name": "new"}]), models=ALL)
    # Who has read all goes on.
    assert laboratory.lakehouse.process.submit(_maintain, AT_ONCE).result().problems == []
    laboratory.deliver(change("UPDATE", 4010, thing(60, "y"), old=[{"name": "z"}]), models=ALL)
    assert told(laboratory) == [(60, "y", "1.00", "update", "z", None)]
    laboratory.deliver(change("UPDATE", 4020, thing(60, "w"), old=[{"name": "y"}]))
    assert laboratory.lakehouse.process.submit(_maintain, AT_ONCE).result().problems == []
    errors = laboratory.lakehouse.dbt("run", "-s", *MARTS, fails=True)
    assert len(errors) == len(MARTS)
    assert all("the changes of its commit" in error for error in errors)
    laboratory.lakehouse.dbt("run", "--full-refresh", "-s", *MARTS, *LOGS)
    assert_marts_are_right(laboratory)


@pytest.mark.long
def test_an_erasure_leaves_nothing_in_the_feed_and_consumers_go_on(laboratory):
    laboratory.deliver(change("INSERT", 5000, thing(61, "Quillfeather")), models=ALL)
    laboratory.deliver(change("INSERT", 5010, thing(62, "neighbour")), models=ALL)
    held = files_that_hold(laboratory.lakehouse.home, "Quillfeather")["Quillfeather"]
    assert any("gold_plain.db/things/" in path for path in held)
    code, said, errors = laboratory.lakehouse.command("erase", "lab.things", "--key", "id=61")
    assert code == 0, said + errors
    assert files_that_hold(laboratory.lakehouse.home, "Quillfeather") == {"Quillfeather": set()}
    assert_marts_are_right(laboratory)
    laboratory.deliver(change("INSERT", 5020, thing(63, "later")), models=ALL)
    assert told(laboratory) == [(63, "later", "1.00", "insert", None, None)]
    assert_marts_are_right(laboratory)
