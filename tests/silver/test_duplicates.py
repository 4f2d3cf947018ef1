"""Which rows of earlier runs are compared with new changes."""

from cdc_lakehouse.engine.duplicates import MANY_TABLES, reach

ORDERS = ("dts_canal", "shop", None, "orders")
IS_ORDERS = (
    "format <=> 'dts_canal' and database_name <=> 'shop'"
    " and schema_name <=> null and table_name <=> 'orders'"
)


def test_changes_after_all_that_are_known_are_compared_with_none():
    assert reach({ORDERS: "5"}, {ORDERS: "7"}, {ORDERS: "4"}) is None
    assert reach({ORDERS: "5"}, {ORDERS: "7"}, {}) is None
    assert reach({}, {}, {ORDERS: "4"}) is None


def test_changes_at_the_last_place_or_before_it_are_compared_with_their_table():
    expected = f"({IS_ORDERS} and sequence between '5' and '7')"
    assert reach({ORDERS: "5"}, {ORDERS: "7"}, {ORDERS: "5"}) == expected
    assert reach({ORDERS: "5"}, {ORDERS: "7"}, {ORDERS: "9"}) == expected
    further = {("drs_json", None, None, "t"): "1"}
    assert reach({ORDERS: "5"} | further, {ORDERS: "7"} | further, {ORDERS: "9"}) == expected


def test_of_many_tables_one_range_is_compared():
    tables = [("dts_canal", "shop", None, f"t{number}") for number in range(MANY_TABLES + 1)]
    first = {table: f"{place:03}" for place, table in enumerate(tables)}
    last = {table: f"{place:03}" for place, table in enumerate(tables, start=1)}
    assert reach(first, last, last) == f"sequence between '000' and '{MANY_TABLES + 1:03}'"
