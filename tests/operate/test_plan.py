"""`lakehouse plan`: it says what the next run of a table does, and changes nothing."""

import json

import pytest
from laboratory import Laboratory, change, thing, write_models

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def laboratory(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("planned", change=write_models)
    laboratory = Laboratory(lakehouse, tmp_path_factory.mktemp("planned-landing"))
    laboratory.deliver(change("INSERT", 1, thing(1, "a")), change("INSERT", 2, thing(2, "b")))
    return laboratory


def plan(laboratory, table, *options):
    code, out, err = laboratory.lakehouse.command("plan", table, *options)
    assert code == 0, err
    return out


def files_and_commits(laboratory):
    return laboratory.lakehouse.files(), len(laboratory.history())


def test_without_news_it_says_so(laboratory):
    assert plan(laboratory, "gold.things").splitlines() == [
        "gold.things: nothing new since commit 1 of bronze.messages",
        "  1  ends      nothing new",
    ]
    assert plan(laboratory, "silver.events").startswith("silver.events: nothing new since commit 1")


def test_it_says_what_silver_and_then_gold_do_with_news(laboratory):
    laboratory.land(change("UPDATE", 3, thing(1, "c"), old=[{"name": "a"}]))
    before = files_and_commits(laboratory)
    said = plan(laboratory, "silver.events")
    assert said.splitlines()[0] == (
        "silver.events: appends the results of commit 2 of bronze.messages; formats dts_canal"
    )
    assert "bronze.messages read to 2" in said
    assert plan(laboratory, "gold.things").startswith("gold.things: nothing new")
    laboratory.lakehouse.dbt("run", "-s", "events")
    told = json.loads(plan(laboratory, "gold.things", "--json"))
    assert (told["why"], told["read"], told["last"]) == ("merges commit 2 of bronze.messages", 1, 2)
    steps = [(step["does"], step["what"].split(":")[0]) for step in told["steps"]]
    assert [step for step in steps if step[0] != "asks"] == [
        ("stages", "new_changes"),
        ("stages", "changed_rows"),
        ("commits", "gold_storage.things, silver.events read to 2"),
    ]
    assert laboratory.history() and files_and_commits(laboratory)[1] == before[1]
    shown = plan(laboratory, "gold.things", "--sql")
    assert "merge into gold_storage.things as stored" in shown
    # The run does what the plan says: its MERGE is the one that was shown.
    laboratory.lakehouse.dbt("run", "-s", "things")
    (run,) = (laboratory.lakehouse.home / "target" / "run").rglob("things.sql")
    merge = next(step["sql"] for step in told["steps"] if step["does"] == "commits")
    assert run.read_text().split() == merge.split()
    assert laboratory.rows("id, name") == [(1, "c"), (2, "b")]


def test_it_says_why_a_table_is_rebuilt(laboratory):
    write_models(laboratory.lakehouse.project, {"things": "on_delete='flag'"})
    commits = len(laboratory.history())
    said = plan(laboratory, "gold.things").splitlines()
    assert said[0] == "gold.things: is rebuilt from all commits of bronze.messages up to 2"
    assert said[1].endswith("rebuilt: its SQL, its key or its options have changed")
    assert len(laboratory.history()) == commits
    assert "_is_deleted" not in laboratory.lakehouse.query("select * from gold.things")[0]
    write_models(laboratory.lakehouse.project)


def test_a_table_of_another_materialization_stays_until_a_run(laboratory):
    write_models(laboratory.lakehouse.project, {"things": "materialized='history'"})
    said = plan(laboratory, "gold.things")
    assert "  2  removes   gold_storage.things" in said
    assert laboratory.rows("id, name") == [(1, "c"), (2, "b")]
    write_models(laboratory.lakehouse.project)


def test_another_table_is_named_with_those_that_have_a_plan(laboratory):
    code, _, err = laboratory.lakehouse.command("plan", "gold.nothing")
    assert code == 2
    assert "gold.nothing is no table with a plan. Those are gold.customers," in err
