"""The file in which a run leaves how far it has come in each source table."""

import pytest

from cdc_lakehouse.latest_changes import (
    FILE,
    LatestChanges,
    forget_changes,
    furthest,
    keep_changes,
    kept_changes,
)

ORDERS = ("dts_canal", "shop", None, "orders")
ODD = ("drs_json", "o'db", "${env:HOME}", "größe\n\\")


def test_what_is_kept_is_found_again(tmp_path):
    latest = LatestChanges(7, {ORDERS: "00000000000000000001", ODD: "2"})
    keep_changes(tmp_path, latest)
    assert kept_changes(tmp_path) == latest
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    forget_changes(tmp_path)
    assert kept_changes(tmp_path) is None
    forget_changes(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"version": 1}', '{"sequences": []}'])
def test_a_file_that_cannot_be_read_is_none(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    assert kept_changes(tmp_path) is None


def test_a_table_is_where_its_latest_change_is():
    assert furthest({ORDERS: "10", ODD: "20"}, {ORDERS: "09", ODD: "30"}, {}) == {
        ORDERS: "10",
        ODD: "30",
    }
