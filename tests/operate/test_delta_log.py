"""Sizes and transactions of a table, as the files of its log say them."""

import json
from shutil import copytree

import pytest

from cdc_lakehouse.delta.disk import files_on_disk
from cdc_lakehouse.delta.log import (
    appended_since,
    bytes_since,
    count_commits,
    earliest_version,
    last_transactions,
    last_user_metadata,
    partitions_since,
    tables_in,
)
from cdc_lakehouse.delta.past import keeps_rows_since


@pytest.fixture
def table(tmp_path):
    """A table of three commits: a file of 100 bytes, one of 20 and its removal, a compaction."""
    log = tmp_path / "_delta_log"
    log.mkdir()
    commits = [
        [{"metaData": {}}, {"add": {"size": 100, "dataChange": True}}],
        [{"add": {"size": 20, "dataChange": True}}, {"remove": {"size": 100, "dataChange": True}}],
        [{"add": {"size": 7000, "dataChange": False}}],
    ]
    for number, actions in enumerate(commits):
        (log / f"{number:020}.json").write_text("\n".join(map(json.dumps, actions)))
    marks = [{"appId": "bronze.messages", "version": 12, "lastUpdated": 1}]
    checksum = {"tableSizeBytes": 7000, "setTransactions": marks}
    (log / f"{2:020}.crc").write_text(json.dumps(checksum))
    return tmp_path


def test_what_came_since_is_what_was_added_and_not_compacted(table):
    assert [bytes_since(table, version) for version in (-1, 0, 1, 2)] == [120, 20, 0, 0]


def test_rows_are_kept_by_all_commits_but_those_that_take_some_away(table):
    # The second commit replaces a file; compaction, of which the third is one, takes no row away.
    (table / "_delta_log" / f"{2:020}.json").write_text(
        '{"add": {"size": 7000, "dataChange": false}}\n{"remove": {"dataChange": false}}'
    )
    assert [keeps_rows_since(table, version) for version in (0, 1, 2)] == [False, True, True]
    # The table has gone back, or a commit is not there.
    assert not keeps_rows_since(table, 3)
    (table / "_delta_log" / f"{1:020}.json").unlink()
    assert [keeps_rows_since(table, version) for version in (0, 1)] == [False, True]


def test_the_text_of_a_commit_holds_until_another_follows(table):
    log = table / "_delta_log"
    assert last_user_metadata(table) is None
    (log / f"{3:020}.json").write_text('{"commitInfo": {"userMetadata": "ours"}}')
    assert last_user_metadata(table) == "ours"
    (log / f"{4:020}.json").write_text('{"commitInfo": {"operation": "DELETE"}}')
    assert last_user_metadata(table) is None
    (log / f"{4:020}.json").write_text("{")
    assert last_user_metadata(table) is None
    assert last_user_metadata(table / "elsewhere") is None


def test_partitions_are_those_of_which_rows_were_written_or_changed(table):
    def file(name, is_data=True):
        return {"size": 1, "dataChange": is_data, "partitionValues": {"format": name}}

    commits = [
        [{"add": file("canal")}, {"add": file("it's")}],
        # A route was given: the change feed names the row before and after.
        [{"cdc": file("unrouted", False)}, {"add": file("drs_json")}, {"remove": file("unrouted")}],
        [{"add": file("canal", False)}, {"remove": file("canal", False)}],
        [{"remove": file("canal")}],
    ]
    log = table / "_delta_log"
    for number, actions in enumerate(commits, 3):
        (log / f"{number:020}.json").write_text("\n".join(map(json.dumps, actions)))
    assert partitions_since(table, 2, 3, "format") == {"canal", "it's"}
    assert partitions_since(table, 3, 4, "format") == {"unrouted", "drs_json"}
    assert partitions_since(table, 4, 6, "format") == set()
    # A commit is not there, or is not whole.
    assert partitions_since(table, 6, 7, "format") is None
    (log / f"{6:020}.json").write_text('{"add": ')
    assert partitions_since(table, 4, 6, "format") is None


def test_what_commits_appended_is_known_if_each_says_that_it_did_no_more(table):
    def commit(number, *actions, says=None):
        info = {"commitInfo": {"operation": "WRITE"} | ({"userMetadata": says} if says else {})}
        path = table / "_delta_log" / f"{number:020}.json"
        path.write_text("\n".join(map(json.dumps, [info, *actions])))

    one, two = ({"path": path, "dataChange": True} for path in ("one", "two"))
    commit(3, {"add": one}, {"add": two}, says="mine")
    commit(4, {"metaData": {}})
    commit(5, {"add": one | {"dataChange": False}}, {"remove": {"dataChange": False}})
    commit(6, {"add": two}, says="mine")
    commit(7, {"add": one})
    commit(8, {"add": two}, says="another's")
    commit(9, {"add": one}, {"remove": {"dataChange": True}}, says="mine")
    commit(10, {"add": one}, {"cdc": {"dataChange": False}}, says="mine")
    assert appended_since(table, 2, 6, "mine") == [[one, two], [two]]
    assert appended_since(table, 3, 5, "mine") == appended_since(table, 6, 6, "mine") == []
    assert all(appended_since(table, last - 1, last, "mine") is None for last in (7, 8, 9, 10, 11))


def test_the_earliest_commit_is_the_first_that_the_log_still_has(table):
    assert earliest_version(table) == 0
    (table / "_delta_log" / f"{0:020}.json").unlink()
    assert earliest_version(table) == 1


def test_the_whole_is_what_the_checksum_says(table):
    assert bytes_since(table, None) == 7000
    assert last_transactions(table) == {"bronze.messages": 12}


@pytest.mark.parametrize("left", [None, "", "{", "{}"])
def test_a_newest_commit_without_a_sound_checksum_leaves_it_to_delta(table, left):
    checksum = table / "_delta_log" / f"{2:020}.crc"
    checksum.unlink()
    if left is not None:
        checksum.write_text(left)
    assert bytes_since(table, None) is None
    assert last_transactions(table) is None


@pytest.mark.parametrize("left", [None, "{"])
def test_a_commit_that_is_gone_or_damaged_leaves_it_to_delta(table, left):
    commit = table / "_delta_log" / f"{1:020}.json"
    commit.unlink()
    if left is not None:
        commit.write_text(left)
    assert bytes_since(table, 0) is None
    assert bytes_since(table, 1) == 0


def test_a_table_that_is_not_there_has_nothing(tmp_path):
    assert bytes_since(tmp_path, 3) == 0
    assert bytes_since(tmp_path, None) is None
    assert last_transactions(tmp_path) is None
    assert not keeps_rows_since(tmp_path, 0)


def test_a_table_is_a_folder_whose_log_has_a_commit(table):
    schema = table / "gold.db"
    copytree(table / "_delta_log", schema / "orders" / "_delta_log")
    killed = schema / "killed" / "_delta_log"
    killed.mkdir(parents=True)
    (killed / f".{0:020}.json.tmp").write_text("")
    (schema / "notes").mkdir()
    assert tables_in(schema) == [schema / "orders"]
    assert [count_commits(schema / name) for name in ("orders", "killed", "notes")] == [3, 0, 0]


def test_files_that_vacuum_leaves_alone_are_not_counted(table):
    for name in ("a.parquet", "part=1/b.parquet", ".a.parquet.crc", "_latest_changes.json"):
        path = table / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("four")
    assert files_on_disk(table) == (2, 8)
