"""What the engine decides from plain values, and what a write's settings leave behind."""

import pytest

from cdc_lakehouse.bronze import GENERATION
from cdc_lakehouse.engine.commit import set_for_one_statement, settings_of_commit

APPLICATION = "spark.databricks.delta.write.txnAppId"
VERSION = "spark.databricks.delta.write.txnVersion"


@pytest.mark.parametrize(
    ("mark", "rebuild", "expected"),
    [
        (None, False, 7),
        (5, False, 7),
        (5, True, GENERATION + 7),
        (3 * GENERATION + 5, False, 3 * GENERATION + 7),
        (3 * GENERATION + 7, True, 4 * GENERATION + 7),
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


def test_the_settings_of_a_write_that_fails_are_not_those_of_the_next_statement():
    class Conf(dict):
        set, unset = dict.__setitem__, dict.__delitem__

    class Session:
        conf = Conf()

    with pytest.raises(ZeroDivisionError), set_for_one_statement(Session, {APPLICATION: "a"}):
        assert Session.conf == {APPLICATION: "a"}
        raise ZeroDivisionError
    assert Session.conf == {}
