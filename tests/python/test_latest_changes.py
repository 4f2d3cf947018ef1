"""What a run leaves of how far it has come in each source table."""

import pytest

from cdc_lakehouse.engine.latest_changes import LatestChanges, furthest, read_latest

ORDERS = ("dts_canal", "shop", None, "orders")
ODD = ("drs_json", "o'db", "${env:HOME}", "größe\n\\")
LATEST = LatestChanges(9, 7, {ORDERS: "00000000000000000001", ODD: "2"})


def test_what_is_kept_is_found_again():
    assert read_latest(LATEST.text()) == LATEST
    assert "\n" not in LATEST.text()


@pytest.mark.parametrize(
    "text", [None, "", "{", "[]", "{}", '{"version": 1}', '{"sequences": []}', '"text"', "7"]
)
def test_a_text_that_cannot_be_read_is_none(text):
    assert read_latest(text) is None


def test_a_table_is_where_its_latest_change_is():
    assert furthest({ORDERS: "10", ODD: "20"}, {ORDERS: "09", ODD: "30"}, {}) == {
        ORDERS: "10",
        ODD: "30",
    }
