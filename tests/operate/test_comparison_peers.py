"""The columns of docs/comparison.md that can be repeated: what two peers make of the same bytes."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from comparison import CASES, DIGITS, row
from peers import dbt_with_merge, start, stream_with_merge

pytestmark = pytest.mark.long


class Peers:
    """The peers' results, from a process with a Spark of their own."""

    def __init__(self, home):
        spawn = get_context("spawn")
        self.home, self.streams = home, {}
        self.process = ProcessPoolExecutor(1, spawn, initializer=start, initargs=(home / "lake",))
        self.of_dbt = self.process.submit(dbt_with_merge, home).result()

    def stream(self, name, values="text"):
        """Return the result of each run of the stream over a case, which runs once."""
        if (name, values) not in self.streams:
            run = self.process.submit(stream_with_merge, self.home, name, values)
            self.streams[name, values] = run.result()
        return self.streams[name, values]

    def dbt(self, name):
        """Return the rows of a case after each run of dbt that has a batch of it."""
        return [rows[name] for rows in self.of_dbt[: len(CASES[name].batches)]]


@pytest.fixture(scope="module")
def peers(tmp_path_factory):
    peers = Peers(tmp_path_factory.mktemp("peers"))
    yield peers
    peers.process.shutdown()


@pytest.mark.parametrize("name", ["malformed_text", "without_key"])
def test_what_cannot_be_read_is_dropped_silently(peers, name):
    """The rows are those of its neighbours, and there is no other place to look at."""
    assert peers.stream(name) == CASES[name].rows
    assert peers.dbt(name) == CASES[name].rows


@pytest.mark.parametrize("name", ["bad_number", "zero_date"])
def test_a_bad_value_stops_the_stream_for_ever(peers, name):
    """The second run has the good message of the second batch to read, and never comes to it."""
    results = peers.stream(name)
    assert len(results) == 2
    assert all("CAST_INVALID_INPUT" in result for result in results)


@pytest.mark.parametrize("name", ["bad_number", "zero_date"])
def test_a_bad_value_is_silently_null(peers, name):
    """Stock dbt-spark turns ANSI off; so does, in effect, a typed reader of JSON."""
    assert peers.dbt(name) == CASES[name].rows
    assert peers.stream(name, "typed") == CASES[name].rows


def test_order_in_a_batch_is_restored(peers):
    assert peers.stream("out_of_order") == CASES["out_of_order"].rows
    assert peers.dbt("out_of_order") == CASES["out_of_order"].rows


def test_an_old_insert_redelivered_wins_in_dbt_spark(peers):
    assert peers.stream("redelivered") == CASES["redelivered"].rows
    assert peers.dbt("redelivered") == [[row(21, "third")], [row(21, "first")]]


def test_a_late_update_wins_in_dbt_spark(peers):
    assert peers.stream("late_update") == CASES["late_update"].rows
    assert peers.dbt("late_update") == [[row(71, "third")], [row(71, "second")]]


def test_a_late_update_brings_a_deleted_row_back(peers):
    assert peers.stream("late_after_delete") == [[], [row(61, "second")]]
    assert peers.dbt("late_after_delete") == [[], [row(61, "second")]]


def test_a_bare_decimal_read_as_text_loses_digits(peers):
    rounded = [[row(81, "exact", price="12345678901234.568000")]]
    assert peers.stream("many_digits") == rounded
    assert peers.dbt("many_digits") == rounded
    assert peers.stream("many_digits", "typed") == [[row(81, "exact", price=DIGITS)]]


def test_a_key_change_leaves_the_old_row(peers):
    both = [[row(91, "moves")], [row(91, "moves"), row(92, "moves")]]
    assert peers.stream("key_change") == both
    assert peers.dbt("key_change") == both
