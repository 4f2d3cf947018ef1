"""What a run leaves of how far it has come in each source table, and of what it has processed."""

import pytest

from cdc_lakehouse.engine.latest_changes import (
    RUNS,
    LatestChanges,
    Run,
    TableChanges,
    counts_of,
    first_sequences_of,
    furthest,
    nothing_known,
    read_latest,
    sequences_of,
)
from cdc_lakehouse.engine.source_tables import SourceTable

ORDERS = ("dts_canal", "shop", None, "orders")
ODD = ("drs_json", "o'db", "${env:HOME}", "größe\n\\")


def changes(name, count=1):
    return TableChanges(SourceTable("shop", None, name), count, 0, 0, 0)


FIRST, SECOND = Run(5, (changes("orders", 2), changes("größe\n"))), Run(7, (changes("orders"),))
LATEST = LatestChanges(9, 7, {ORDERS: "00000000000000000001", ODD: "2"}, 3, (FIRST, SECOND))


def test_what_is_kept_is_found_again():
    assert read_latest(LATEST.text()) == LATEST
    assert "\n" not in LATEST.text()


@pytest.mark.parametrize(
    "text",
    [
        *[None, "", "{", "[]", "{}", '{"version": 1}', '{"sequences": []}', '"text"', "7"],
        # As an earlier release has left it.
        '{"version": 1, "bronze_version": 1, "sequences": []}',
        '{"version": 1, "bronze_version": 1, "sequences": [], "since": 1, "runs": [[1, [["a"]]]]}',
    ],
)
def test_a_text_that_cannot_be_read_is_none(text):
    assert read_latest(text) is None


def test_a_table_is_where_its_latest_change_is():
    assert furthest({ORDERS: "10", ODD: "20"}, {ORDERS: "09", ODD: "30"}, {}) == {
        ORDERS: "10",
        ODD: "30",
    }


def test_the_changes_after_a_version_are_those_of_all_runs_since():
    assert LATEST.changes_since(3) == [*FIRST.tables, *SECOND.tables]
    assert LATEST.changes_since(5) == [*SECOND.tables]
    assert LATEST.changes_since(7) == []
    # Before that it is not known which runs there were.
    assert LATEST.changes_since(2) is None
    assert LATEST.changes_since(None) is None
    assert nothing_known(None).changes_since(None) == []


def test_a_further_run_is_added_and_says_how_far_it_has_come():
    run = Run(8, (changes("items"),))
    latest = LATEST.with_run(11, run, {ODD: "3"})
    assert (latest.version, latest.bronze_version) == (11, 8)
    assert latest.sequences == {ORDERS: "00000000000000000001", ODD: "3"}
    assert latest.changes_since(7) == [changes("items")]
    nothing = latest.with_run(12, Run(9, ()), {})
    assert (nothing.bronze_version, nothing.runs) == (9, latest.runs)


def test_of_many_runs_the_last_ones_are_known():
    latest = nothing_known(None)
    for last in range(RUNS + 3):
        latest = latest.with_run(last, Run(last, (changes("orders"),)), {})
    assert latest.changes_since(1) is None
    assert latest.changes_since(2) == [changes("orders")] * RUNS


def test_a_row_of_the_query_tells_the_sequence_and_the_counts_of_all_formats():
    rows = [
        ("dts_canal", "shop", None, "orders", "7", "5", 3, 1, 0, 0),
        ("drs_json", "shop", None, "orders", "9", "9", 2, 2, 2, 0),
        ("dts_canal", "shop", None, "orders", None, None, 1, 0, 0, 1),
    ]
    assert sequences_of(rows) == {ORDERS: "7", ("drs_json", "shop", None, "orders"): "9"}
    assert first_sequences_of(rows) == {ORDERS: "5", ("drs_json", "shop", None, "orders"): "9"}
    orders = SourceTable("shop", None, "orders")
    assert counts_of(rows) == (TableChanges(orders, 5, 3, 2, 0), TableChanges(orders, 1, 0, 0, 1))
