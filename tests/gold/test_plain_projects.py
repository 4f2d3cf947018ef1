"""Plain projects of dbt run on the adapter, in the two shapes that most projects have.

`coffee_shop` is seeds, staging views, marts, a snapshot and all kinds of tests; `page_views` is
incremental models over events. They hold nothing of cdc_lakehouse but `type: lakehouse`. All that
is expected was worked out by hand from their seeds.
"""

import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

PROJECTS = Path(__file__).parents[1] / "support" / "projects"


def add_lines(path, *lines):
    path.write_text(path.read_text() + "".join(f"{line}\n" for line in lines))


def catalog(lakehouse):
    """Write the site; return what it says of the tables and views, by their names."""
    lakehouse.dbt("docs", "generate")
    target = lakehouse.home / "target"
    found = json.loads((target / "catalog.json").read_text())
    assert found["errors"] is None
    return {key.split(".", 2)[-1]: node for key, node in found["nodes"].items()}


@pytest.fixture(scope="module")
def coffee_shop(open_lakehouse):
    """A project that was built, whose seeds then changed, and that was built again."""
    lakehouse = open_lakehouse("coffee", lambda project: None, source=PROJECTS / "coffee_shop")
    # A source is read before the seed that writes it, which no `ref` says.
    lakehouse.dbt("seed")
    lakehouse.first = lakehouse.dbt("build")
    lakehouse.customers = lakehouse.query("select * from coffee.customers order by customer_id")
    seeds = lakehouse.project / "seeds"
    orders = (seeds / "raw_orders.csv").read_text().splitlines()
    changed = [line.replace("placed", "completed") for line in orders if "returned" not in line]
    (seeds / "raw_orders.csv").write_text("".join(f"{line}\n" for line in changed))
    add_lines(seeds / "raw_orders.csv", "13,3,2026-01-03 08:00:00,placed")
    add_lines(seeds / "raw_payments.csv", "104,13,cash,350")
    lakehouse.dbt("seed")
    lakehouse.second = lakehouse.dbt("build")
    return lakehouse


def test_seeds_views_and_tables_are_built(coffee_shop):
    names = [(row["first_name"], row["last_name"]) for row in coffee_shop.customers]
    assert names == [("Ada", "L."), ("Grace", "H."), ("Edith", "C., née B.")]
    values = [(row["number_of_orders"], row["lifetime_value"]) for row in coffee_shop.customers]
    assert values == [(2, Decimal("19.00")), (1, Decimal("9.99")), (0, Decimal("0.00"))]


def test_a_second_build_follows_the_seeds(coffee_shop):
    rows = coffee_shop.query("select * from coffee.orders order by order_id")
    assert [tuple(row.values()) for row in rows] == [
        (
            10,
            1,
            datetime(2026, 1, 1, 9),
            "completed",
            *map(Decimal, ("12.50", "0.00", "2.50", "15")),
        ),
        (12, 2, datetime(2026, 1, 2, 11), "completed", *map(Decimal, ("9.99", "0", "0", "9.99"))),
        (13, 3, datetime(2026, 1, 3, 8), "placed", *map(Decimal, ("0", "3.50", "0", "3.50"))),
    ]


def test_an_incremental_model_adds_what_is_new(coffee_shop):
    rows = coffee_shop.query("select order_id, status from coffee.order_log order by order_id")
    found = [tuple(row.values()) for row in rows]
    assert found == [(10, "completed"), (11, "returned"), (12, "placed"), (13, "placed")]


def test_a_snapshot_keeps_what_was(coffee_shop):
    rows = coffee_shop.query(
        "select id, status, dbt_valid_to is null as is_now from coffee_snapshots.orders_snapshot"
        " order by id, dbt_valid_from"
    )
    assert [tuple(row.values()) for row in rows] == [
        (10, "completed", True),
        (11, "returned", False),
        (12, "placed", False),
        (12, "completed", True),
        (13, "placed", True),
    ]


def test_every_kind_of_test_has_run(coffee_shop):
    for said in (coffee_shop.first, coffee_shop.second):
        assert {"payments_add_up", "is_positive_stg_payments_amount"} <= said.keys()
        assert "the_value_of_a_customer_is_that_of_all_orders" in said
        assert "relationships_orders_customer_id__customer_id__ref_stg_customers_" in said
    add_lines(coffee_shop.project / "seeds" / "raw_payments.csv", "105,13,card,-1")
    coffee_shop.dbt("seed")
    (fault,) = coffee_shop.dbt("test", "-s", "stg_payments", fails=True)
    assert "Got 1 result, configured to fail if != 0" in fault


def test_hooks_ran_around_each_run(coffee_shop):
    (row,) = coffee_shop.query("select count(distinct id) as runs from coffee.runs")
    assert row["runs"] >= 4


def test_a_source_is_fresh(coffee_shop):
    coffee_shop.dbt("source", "freshness")


def test_the_site_knows_tables_and_views(coffee_shop):
    found = catalog(coffee_shop)
    kinds = {name: node["metadata"]["type"] for name, node in found.items()}
    assert kinds["stg_orders"] == "view"
    assert kinds["orders"] == "table"
    assert list(found["orders"]["columns"])[:2] == ["order_id", "customer_id"]


def test_nothing_of_cdc_lakehouse_is_in_it(coffee_shop):
    manifest = json.loads((coffee_shop.home / "target" / "manifest.json").read_text())
    packages = {node["package_name"] for node in manifest["nodes"].values()}
    assert packages == {"coffee_shop"}


@pytest.fixture(scope="module")
def page_views(open_lakehouse):
    """A project that was built, that got more events, and that was built again, twice."""
    lakehouse = open_lakehouse("views", lambda project: None, source=PROJECTS / "page_views")
    lakehouse.dbt("build")
    add_lines(
        lakehouse.project / "seeds" / "events.csv",
        "a4,ann,/docs,2026-03-01 11:25:00,paid",
        "b2,bob,/,2026-03-01 11:20:00,free",
    )
    for _ in range(2):
        lakehouse.said = lakehouse.dbt("build")
    return lakehouse


def at(hour, minute=0):
    return datetime(2026, 3, 1, hour, minute)


def test_a_merge_updates_and_inserts_by_a_key_of_two_columns(page_views):
    rows = page_views.query("select * from web.sessions order by visitor, session_number")
    assert [tuple(row.values()) for row in rows] == [
        ("ann", 1, at(10), at(10, 10), 2),
        ("ann", 2, at(11), at(11, 25), 2),
        ("bob", 1, at(10, 5), at(10, 5), 1),
        ("bob", 2, at(11, 20), at(11, 20), 1),
    ]


def test_an_append_adds_each_event_once(page_views):
    rows = page_views.query("select event_id from web.all_views order by event_id")
    assert [row["event_id"] for row in rows] == ["a1", "a2", "a3", "a4", "b1", "b2"]


def test_a_partitioned_table_is_rebuilt_with_its_hook(page_views):
    rows = page_views.query("select page, views from web.pages order by page")
    found = [tuple(row.values()) for row in rows]
    assert found == [("/", 4), ("/docs", 1), ("/prices", 1), ("end", 0)]


def test_a_snapshot_follows_times(page_views):
    rows = page_views.query(
        "select visitor, plan, dbt_valid_from, dbt_valid_to from web.plans"
        " order by visitor, dbt_valid_from"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("ann", "free", at(11), at(11, 25)),
        ("ann", "paid", at(11, 25), None),
        ("bob", "free", at(10, 5), at(11, 20)),
        ("bob", "free", at(11, 20), None),
    ]


def test_a_warning_keeps_what_it_found(page_views):
    (said,) = [said for name, said in page_views.said.items() if name.startswith("accepted")]
    assert said == "Got 2 results, configured to warn if != 0"
    (table,) = page_views.query("show tables in web_failures like 'accepted*'")
    rows = page_views.query(f"select value_field from web_failures.{table['tableName']}")
    assert sorted(row["value_field"] for row in rows) == ["/docs", "/prices"]


def test_a_column_that_the_model_gains_is_added(page_views):
    model = page_views.project / "models" / "web" / "sessions.sql"
    model.write_text(model.read_text().replace("count(*) as pages", "count(*) as pages, 1 as more"))
    add_lines(page_views.project / "seeds" / "events.csv", "c1,cyd,/,2026-03-02 08:00:00,free")
    page_views.dbt("build")
    rows = page_views.query("select visitor, more from web.sessions order by visitor, more")
    assert [row["more"] for row in rows] == [None, None, None, None, 1]
    assert rows[-1]["visitor"] == "cyd"


def test_descriptions_are_comments_of_columns(page_views):
    rows = page_views.query("describe web.sessions")
    assert rows[0] == {
        "col_name": "visitor",
        "data_type": "string",
        "comment": "Who it's, by a cookie.",
    }
