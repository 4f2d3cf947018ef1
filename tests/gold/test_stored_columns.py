"""A table gets further columns in place only where a rebuild would lose rows."""

import pytest

from cdc_lakehouse.delta.stored_columns import columns_to_add

STORED = {"topic": "string", "kind": "string", "offset": "long"}
FURTHER = {"topic": "string", "new": "string", **STORED, "late": "boolean"}


def test_missing_columns_are_added_in_the_order_of_the_contract():
    assert columns_to_add(STORED, FURTHER, ["topic", "offset"], loses_rows=True) == ["new", "late"]


def test_a_table_that_loses_nothing_is_rebuilt():
    assert columns_to_add(STORED, FURTHER, ["topic", "offset"], loses_rows=False) == []


@pytest.mark.parametrize(
    ("stored", "required"),
    [
        (STORED | {"kind": "integer"}, []),
        (STORED | {"gone": "string"}, []),
        (STORED, ["late"]),
        (FURTHER, []),
    ],
    ids=["another type", "a column too many", "one that must not be null", "nothing missing"],
)
def test_any_other_difference_is_no_addition(stored, required):
    assert columns_to_add(stored, FURTHER, required, loses_rows=True) == []
