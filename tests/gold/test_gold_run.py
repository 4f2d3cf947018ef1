"""What a run of a gold table does, step by step, with answers that a test makes up; no Spark."""

import pytest
from golden import FOLDER, orders, shapes, steps_of, with_rules
from test_rendering import faults_of

from cdc_lakehouse.engine.steps import (
    NOT_WRITTEN,
    NOTHING_NEW,
    Ask,
    CheckContract,
    Commit,
    Execute,
    Expect,
    Finish,
    IsKnown,
    LookAt,
    Name,
    Remove,
    Say,
    Stage,
)
from cdc_lakehouse.errors import LakehouseError

SHAPES = shapes()


def kinds(steps):
    """What a run does, without what it expects of Spark."""
    return [type(step) for step in steps if not isinstance(step, (Expect, IsKnown, LookAt))]


@pytest.mark.parametrize("name", SHAPES)
def test_the_statements_of_a_model_are_those_that_are_checked_in(name):
    """If they have changed on purpose: python tests/support/golden.py, and read the difference."""
    assert SHAPES[name] == (FOLDER / name).read_text()


@pytest.mark.parametrize("name", SHAPES)
def test_checked_in_statements_are_sql_that_a_linter_accepts(name):
    blocks = [block.strip().rstrip(";") for block in SHAPES[name].split(";\n") if block.strip()]
    faults = {}
    for block in blocks:
        said, _, text = block.partition("\n")
        faults[said] = faults_of(text)
    assert {said: found for said, found in faults.items() if found} == {}


def test_files_of_statements_are_those_of_the_shapes():
    assert {path.name for path in FOLDER.glob("*")} == set(SHAPES)


def test_a_run_that_merges_stages_asks_stages_and_commits_once():
    steps = steps_of(orders())
    assert kinds(steps) == [Stage, Ask, Stage, Commit]
    assert [step.view for step in steps if isinstance(step, Stage)] == [
        "new_changes",
        "changed_rows",
    ]
    commit = steps[-2]
    assert (commit.source, commit.version, commit.rebuild) == ("silver.events", 7, False)
    assert str(commit.table) == "gold_storage.things"


def test_a_run_of_a_history_stages_the_changes_of_its_keys():
    views = [step.view for step in steps_of(orders("history")) if isinstance(step, Stage)]
    assert views == ["new_changes", "touched_changes", "changed_rows"]


def test_a_partial_change_is_noted_before_the_rows_are_written():
    steps = steps_of(orders(), partial_changes=1)
    noted = [n for n, step in enumerate(steps) if isinstance(step, Execute)]
    assert "cdc_lakehouse.partial_rows" in steps[noted[0]].sql
    assert noted[0] < len(steps) - 2 and isinstance(steps[-2], Commit)


def test_a_view_has_one_meaning_in_a_run():
    """But for the changes of a run that follows keys, which are staged again without them."""
    for shape in (orders(), orders("history"), with_rules(orders())):
        names = [s.view for s in steps_of(shape) if isinstance(s, (Stage, Name))]
        assert len(names) == len(set(names))


def test_a_new_table_is_made_checked_and_written():
    plan = orders(read=None, properties={}, needs_views=True)
    steps = steps_of(plan)
    runs = [step.sql.split("\n")[0] for step in steps if isinstance(step, Execute)]
    assert runs[0] == "create schema if not exists gold_storage"
    assert runs[1].startswith("create table gold_storage.things")
    assert [step for step in steps if isinstance(step, CheckContract)]
    (commit,) = [step for step in steps if isinstance(step, Commit)]
    assert commit.sql.startswith("insert into gold_storage.things")


@pytest.mark.parametrize(("altered", "comes_first"), [("status", False), ("note", True)])
def test_a_view_is_made_once_the_table_has_the_columns_that_it_names(altered, comes_first):
    """The model has status and no note: where the table lacks status, a view of it is refused."""
    plan = orders(read=None, rebuild=True, needs_views=True, altered=[altered])
    steps = steps_of(plan)
    (commit,) = [n for n, step in enumerate(steps) if isinstance(step, Commit)]
    made = f"create or replace view {plan.view} "
    (view,) = [n for n, s in enumerate(steps) if isinstance(s, Execute) and made in s.sql]
    assert (view < commit) is comes_first


def test_a_table_of_another_materialization_is_removed_first():
    plan = orders(read=None, properties={}, is_replaced=True, said="is rebuilt")
    assert kinds(steps_of(plan))[:2] == [Say, Remove]


def test_a_part_of_the_sources_leaves_a_table_of_another_materialization():
    plan = orders(read=None, properties={}, is_replaced=True, said="is rebuilt", is_part=True)
    assert kinds(steps_of(plan)) == [CheckContract, Finish]


def test_a_run_without_news_ends_at_once():
    step, _ = steps_of(orders(read=7))
    assert step == Finish(NOTHING_NEW)


def test_a_part_of_the_sources_is_checked_and_not_written():
    steps = steps_of(orders(read=None, is_part=True))
    assert kinds(steps) == [CheckContract, Finish]
    assert steps[-1] == Finish(NOT_WRITTEN)


def written(steps, copy):
    """How the statements that write a copy begin."""
    sql = [step.sql for step in steps if isinstance(step, Execute)]
    return [each.split("\n")[0] for each in sql if str(copy) in each]


def test_a_copy_follows_the_table_that_it_has_shown():
    plan = orders(plain_table=True)
    merged = written(steps_of(plan, shown=5), plan.plain)
    assert merged == ["merge into gold_plain.things as stored"]


@pytest.mark.parametrize("shown", [None, 3])
def test_a_copy_that_is_missing_or_behind_is_written_whole(shown):
    plan = orders(plain_table=True)
    steps = steps_of(plan, shown=shown)
    assert written(steps, plan.plain) == ["create or replace table gold_plain.things"]
    (write,) = [s for s in steps if isinstance(s, Execute) and "replace table" in s.sql]
    assert write.values["spark.databricks.delta.write.txnVersion"] == "7"


def test_a_copy_that_no_option_asks_for_is_dropped():
    steps = steps_of(orders(), shown=7)
    assert kinds(steps)[-2:] == [Say, Remove]


def test_a_table_of_somebody_else_is_not_overwritten():
    with pytest.raises(LakehouseError, match="was not made by the option plain_table of things"):
        steps_of(orders(plain_table=True), shown=5, copy={})


def test_changes_of_other_tables_are_noted_as_read():
    steps = steps_of(orders(changes=[]))
    assert steps == [Finish(NOTHING_NEW), LookAt(orders().plain)]
    (step,) = [step for step in steps_of(orders(changes=None)) if isinstance(step, Commit)]
    assert step.sql.startswith("update gold_storage.things")
