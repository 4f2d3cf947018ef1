"""What the engine decides from plain values, and what a write's settings leave behind."""

import json
from pathlib import Path

import pytest

from cdc_lakehouse.delta.commit import set_for_one_statement, settings_of_commit
from cdc_lakehouse.delta.high_water_mark import EPOCH
from cdc_lakehouse.delta.past import UNREAD, Mark
from cdc_lakehouse.delta.statistics import Extent, extent_of
from cdc_lakehouse.engine.loss import LostRows, refuse_first_build
from cdc_lakehouse.engine.new_messages import MANY_FILES, NewMessages, from_commits, from_rows
from cdc_lakehouse.engine.reprocessed import read_tables, with_tables
from cdc_lakehouse.engine.window import Build, Window, decide_build, refuse_restored
from cdc_lakehouse.errors import LakehouseError

APPLICATION = "spark.databricks.delta.write.txnAppId"
VERSION = "spark.databricks.delta.write.txnVersion"

STORED = {"topic": "string", "kind": "string"}
FURTHER = STORED | {"is_late": "boolean"}
NONE, SOME = LostRows(0), LostRows(4, "2026-11-01 00:00:00", "2026-11-02 00:00:00")


def built(is_asked=False, stored=STORED, contract=STORED, lost=None):
    return decide_build("silver.events", is_asked, stored, contract, ["topic"], lost)


def test_a_table_that_is_as_its_contract_says_stays():
    assert built() == Build(exists=True)


def test_a_table_whose_contract_has_changed_is_built_again_and_says_why():
    assert built(contract=FURTHER | {"kind": "integer"}, lost=NONE) == Build(
        exists=True,
        rebuild=True,
        said="silver.events is rebuilt, its definition has changed: is_late, kind",
    )


def test_a_table_that_a_person_builds_again_says_nothing():
    assert built(is_asked=True, lost=NONE) == Build(exists=True, rebuild=True)


def test_columns_are_added_in_place_where_a_rebuild_would_lose_rows():
    build = built(contract=FURTHER, lost=SOME)
    assert (build.rebuild, build.added) == (False, ("is_late",))
    assert build.said == (
        "silver.events gets the columns is_late. Bronze no longer holds all of its messages, so it "
        "is not rebuilt: these columns are null in the rows that it has."
    )


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_rebuild_that_would_lose_rows_is_refused(is_asked, monkeypatch):
    change = {"is_asked": is_asked, "contract": STORED | {"kind": "integer"}, "lost": SOME}
    monkeypatch.setenv("LAKEHOUSE_LOSE_REMOVED", "no")
    with pytest.raises(LakehouseError) as refused:
        built(**change)
    assert str(refused.value).startswith(
        "silver.events cannot be rebuilt without loss: 4 of its rows, committed from "
        "2026-11-01 00:00:00 to 2026-11-02 00:00:00, are of messages that bronze no longer holds"
    )
    monkeypatch.setenv("LAKEHOUSE_LOSE_REMOVED", "yes")
    assert built(**change).rebuild


def test_a_first_build_is_refused_where_bronze_has_removed_messages(monkeypatch, tmp_path):
    monkeypatch.delenv("LAKEHOUSE_LOSE_REMOVED", raising=False)
    refuse_first_build({"retention": 0, "erasure": 0}, tmp_path)
    with pytest.raises(LakehouseError, match=r"\(1,200 dropped by `lakehouse expire`\)"):
        refuse_first_build({"retention": 1200, "erasure": 0}, tmp_path)
    with pytest.raises(LakehouseError, match=r"expire`, 3 removed by `lakehouse erase`\)"):
        refuse_first_build({"retention": 1, "erasure": 3}, tmp_path)
    monkeypatch.setenv("LAKEHOUSE_LOSE_REMOVED", "yes")
    refuse_first_build({"retention": 1, "erasure": 3}, tmp_path)


def window(read, last=9, reaches_back=True, formats=("canal",)):
    build = Build(exists=read is not None)
    messages = ("bronze.messages", read, last)
    return Window("silver.events", Path(), [], *messages, build, frozenset(formats), reaches_back)


def words(sql):
    return " ".join(sql.split())


def test_a_first_run_reads_all_of_bronze():
    assert words(window(None).deliveries) == (
        "select *, _metadata.row_commit_version as bronze_version, false as is_update "
        "from bronze.messages version as of 9"
    )


def test_a_run_reads_the_commits_after_the_last_that_it_has_read():
    assert words(window(6).deliveries) == (
        "select * except (_change_type, _commit_version, _commit_timestamp), "
        "_commit_version as bronze_version, _change_type = 'update_postimage' as is_update "
        "from table_changes('bronze.messages', 7, 9) "
        "where _change_type in ('insert', 'update_postimage')"
    )


def test_rows_tell_their_commit_where_the_log_does_not_reach_back():
    assert words(window(6, reaches_back=False).deliveries) == (
        "select *, _metadata.row_commit_version as bronze_version, true as is_update "
        "from bronze.messages version as of 9 where _metadata.row_commit_version > 6"
    )


def test_a_window_without_formats_is_empty_unless_it_is_the_first():
    assert window(9, formats=()).is_empty
    assert not window(6).is_empty
    assert not window(None, formats=()).is_empty


def test_a_bronze_that_is_behind_what_was_read_is_refused():
    refuse_restored("silver.events", UNREAD, None)
    refuse_restored("silver.events", Mark(9, 9), None)
    with pytest.raises(
        LakehouseError, match=r"up to commit 10, .* is now at version 9: .*-refresh"
    ):
        refuse_restored("silver.events", Mark(10, 10), "is now at version 9")
    with pytest.raises(LakehouseError, match=r"no longer tells how far it had read .*-refresh"):
        refuse_restored("silver.events", Mark(-1, 10, is_lost=True), None)


def test_the_ranges_of_new_messages_are_a_condition():
    new = NewMessages((Extent(("it's", 0, 3), ("it's", 0, 8)), Extent(("b", 1, 0), ("c", 2, 0))))
    assert new.ranges == (
        r"(topic = 'it\'s' and partition = 0 and offset between 3 and 8) or "
        "(topic between 'b' and 'c' and partition between 1 and 2 and offset = 0)"
    )


ONE = ("a", 0, 0, 9, False, False)


@pytest.mark.parametrize(
    ("rows", "has_copies"),
    [
        ([ONE, ("a", 1, 0, 9, False, False)], False),
        ([("a", 0, 0, 9, True, False)], True),
        ([ONE, ("a", 0, 20, 29, False, False)], True),
    ],
    ids=["two partitions", "an identity twice", "two formats of one partition"],
)
def test_copies_are_looked_for_where_there_can_be_some(rows, has_copies):
    assert from_rows(rows).has_copies is has_copies


def file_of(first, last):
    return Extent(("a", 0, first), ("a", 0, last))


@pytest.mark.parametrize(
    ("commits", "has_copies"),
    [
        ([[file_of(0, 9)], [file_of(10, 19)]], False),
        ([[file_of(0, 9)], [file_of(9, 19)]], True),
        ([[file_of(0, 9), file_of(5, 14)]], False),
        ([[file_of(0, 9)], [Extent(("a", 1, 0), ("b", 1, 9))]], False),
        ([[file_of(0, 9)], [Extent(("Z", 0, 9), ("b", 3, 30))]], True),
    ],
    ids=["one after the other", "common", "in one commit", "other partition", "several topics"],
)
def test_commits_that_have_each_message_once_have_copies_of_each_other_alone(commits, has_copies):
    found = from_commits(commits)
    assert (found.has_copies, found.has_updates) == (has_copies, False)
    assert found.extents == tuple(extent for commit in commits for extent in commit)


def test_of_very_many_files_a_query_is_asked():
    commits = [[file_of(number, number)] for number in range(MANY_FILES + 1)]
    assert from_commits(commits) is None
    assert from_commits(commits[1:]) is not None


def test_a_file_without_statistics_has_no_extent():
    stats = {"numRecords": 2, "minValues": {"topic": "a", "offset": 3}}
    stats["maxValues"] = {"topic": "b", "offset": 4}
    file = {"stats": json.dumps(stats)}
    assert extent_of(file, ["topic", "offset"]) == Extent(("a", 3), ("b", 4))
    assert extent_of(file, ["topic", "partition"]) is None
    assert extent_of({"stats": None}, ["topic"]) is None
    assert extent_of({}, ["topic"]) is None


@pytest.mark.parametrize("has_updates", [True, False])
@pytest.mark.parametrize("are_known", [True, False])
def test_messages_are_processed_again_that_come_again_on_purpose(has_updates, are_known):
    new = NewMessages((file_of(0, 9),), has_updates=has_updates, are_known=are_known)
    assert new.reprocesses is (has_updates and are_known)


def test_a_table_that_is_processed_again_twice_has_the_later_version():
    assert read_tables(None) == read_tables("{}") == {}
    once = with_tables(None, [("shop", None, "orders"), ("shop", "s", "items")], 4)
    twice = with_tables(once, [("shop", None, "orders")], 7)
    tables = {tuple(json.loads(names)): version for names, version in read_tables(twice).items()}
    assert tables == {("shop", None, "orders"): 7, ("shop", "s", "items"): 4}


@pytest.mark.parametrize(
    ("mark", "rebuild", "expected"),
    [
        (None, False, 7),
        (5, False, 7),
        (5, True, EPOCH + 7),
        (3 * EPOCH + 5, False, 3 * EPOCH + 7),
        (3 * EPOCH + 7, True, 4 * EPOCH + 7),
    ],
    ids=["first", "next", "rebuilt", "next of a rebuilt", "rebuilt again from the same"],
)
def test_a_rebuild_may_read_the_same_versions_again(mark, rebuild, expected):
    settings = settings_of_commit("silver.events", 7, mark, rebuild)
    assert settings == {APPLICATION: "silver.events", VERSION: str(expected)}


def test_a_write_of_messages_reads_row_by_row_and_a_merge_of_staged_rows_keeps_none():
    assert settings_of_commit("bronze.messages", 7, 5, row_by_row=True, is_staged=True) == {
        APPLICATION: "bronze.messages",
        VERSION: "7",
        "spark.sql.parquet.enableVectorizedReader": "false",
        "spark.databricks.delta.merge.materializeSource": "none",
    }


def test_a_write_that_fails_leaves_the_settings_as_they_were():
    class Conf(dict):
        set, unset = dict.__setitem__, dict.__delitem__

    class Session:
        conf = Conf({VERSION: "6"})

    values = {APPLICATION: "a", VERSION: "7"}
    with pytest.raises(ZeroDivisionError), set_for_one_statement(Session, values):
        assert Session.conf == values
        raise ZeroDivisionError
    assert Session.conf == {VERSION: "6"}
