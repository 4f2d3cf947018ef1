"""Which tables of the source a gold model can read, told from the `where` of its SQL."""

import re

import pytest

from cdc_lakehouse.engine.source_tables import SourceTable, rows_of_tables, tables_read
from cdc_lakehouse.errors import LakehouseError

SELECT = "select image['id'] as id from silver.row_images where "

ORDERS = SourceTable("shop", None, "orders")
ITEMS = SourceTable("shop", None, "items")
OWNED = SourceTable("shop", "sales", "orders")


def reads(sql, table):
    return tables_read(sql)(table)


@pytest.mark.parametrize(
    ("where", "of_orders", "of_items"),
    [
        ("database_name = 'shop' and table_name = 'orders'", True, False),
        ("source_table = 'shop.orders'", True, False),
        ("SOURCE_TABLE = 'shop.orders'", True, False),
        ("source_table in ('shop.orders', 'shop.customers')", True, False),
        ("source_table not in ('shop.orders', 'shop.customers')", False, True),
        ("table_name <> 'orders'", False, True),
        ("not (table_name = 'orders' or table_name = 'customers')", False, True),
        ("table_name like 'ord%'", True, False),
        ("table_name like '_rders'", True, False),
        ("table_name rlike '^ord.*s$'", True, False),
        ("lower(table_name) = 'orders' and upper(database_name) = 'SHOP'", True, False),
        # A condition on anything else may be true or not.
        ("table_name = 'orders' and image['state'] = 'paid'", True, False),
        ("table_name = 'orders' or image['state'] = 'paid'", True, True),
        ("operation <> 'delete'", True, True),
        ("concat(database_name, table_name) = 'shoporders'", True, True),
        (r"table_name rlike '\\p{L}+'", True, True),
        (r"table_name like 'or\\_ers'", True, True),
        # Null is not true, and neither is its opposite.
        ("schema_name = 'sales'", False, False),
        ("not (schema_name = 'sales')", False, False),
        ("schema_name <> 'sales'", False, False),
        ("schema_name is null and table_name = 'orders'", True, False),
        ("schema_name is not null", False, False),
        ("schema_name <=> null", True, True),
        ("schema_name in ('sales', null)", False, False),
        ("table_name in ('items', null)", False, True),
        ("table_name not in ('items', null)", False, False),
        ("false", False, False),
        ("true", True, True),
    ],
)
def test_the_tables_for_which_the_condition_can_be_true_are_read(where, of_orders, of_items):
    assert (reads(SELECT + where, ORDERS), reads(SELECT + where, ITEMS)) == (of_orders, of_items)


def test_the_name_of_a_table_has_the_parts_that_its_format_sends():
    assert (ORDERS.name, OWNED.name) == ("shop.orders", "shop.sales.orders")
    assert reads(SELECT + "source_table = 'shop.sales.orders'", OWNED)
    assert not reads(SELECT + "source_table = 'shop.sales.orders'", ORDERS)


def test_a_text_is_read_as_spark_reads_it():
    assert reads(SELECT + "table_name = 'it''s'", SourceTable("shop", None, "it's"))
    assert reads(SELECT + r"table_name = 'it\'s'", SourceTable("shop", None, "it's"))
    assert reads(SELECT + "table_name = 'a -- b'", SourceTable("shop", None, "a -- b"))


@pytest.mark.parametrize(
    "sql",
    [
        "select image['id'] as id from `silver`.`row_images` as r where r.table_name = 'orders'",
        "with r as (select * from silver.row_images where table_name = 'orders') select * from r",
        "select * from (select * from silver.row_images where table_name = 'orders') where id > 1",
    ],
)
def test_the_condition_may_stand_in_a_part_of_the_query(sql):
    assert (reads(sql, ORDERS), reads(sql, ITEMS)) == (True, False)


@pytest.mark.parametrize(
    "sql",
    [
        "select * from silver.row_images",
        "with r as (select * from silver.row_images) select * from r where table_name = 'orders'",
        "select * from silver.row_images join names using (id) where table_name = 'orders'",
        "select * from names left join silver.row_images using (id) where table_name = 'orders'",
        "select * from silver.row_images where table_name = 'orders' union all "
        "select * from silver.row_images where table_name = 'customers'",
        "select this is no SQL where table_name = 'orders'",
    ],
)
def test_a_query_that_is_not_understood_may_read_every_table(sql):
    assert reads(sql, ORDERS) and reads(sql, ITEMS)


def reads_named(table, *names):
    """Whether a model whose `from` has these names reads a table."""
    images = f"(select * from silver.row_images where {rows_of_tables(names)}) as row_images"
    return tables_read(f"select image['id'] as id from {images} where image['id'] > 0")(table)


@pytest.mark.parametrize(
    ("table", "name"),
    [
        (ORDERS, "shop.orders"),
        (SourceTable(None, "SCOTT", "EMP"), "SCOTT.EMP"),
        (SourceTable("pg", "public", "t"), "pg.public.t"),
        (SourceTable(None, None, "t"), "t"),
        (SourceTable("shop_7", None, "orders_12"), "shop_*.orders_*"),
        (SourceTable("a.b", None, "it's {{x}}"), "`a.b`.it's {{x}}"),
        (SourceTable("a", None, "b*"), "a.`b*`"),
        (SourceTable("a", None, "b-c.d"), "a.`b-c.d`"),
    ],
)
def test_a_table_is_read_by_its_name(table, name):
    assert reads_named(table, name)
    assert reads_named(table, "other.table", name)
    assert not reads_named(SourceTable("other", None, "other"), name)


@pytest.mark.parametrize(
    ("table", "name"),
    [
        (SourceTable("shop", "public", "orders"), "shop.orders"),
        (SourceTable("shop", None, "orders"), "orders"),
        (SourceTable("shop", None, "orders_1"), "shop.orders"),
        (SourceTable("shopX7", None, "orders"), "shop_*.orders"),
        (SourceTable("shop", None, "xorders_1"), "shop.orders_*"),
        (SourceTable("a", None, "bc"), "a.`b*`"),
        (SourceTable("SHOP", None, "orders"), "shop.orders"),
    ],
)
def test_a_table_of_another_name_is_not_read(table, name):
    assert not reads_named(table, name)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ((), "row_images() names no table"),
        (("a.b.c.d",), "no table has more than three names"),
        (("a..b",), "are no names with '.' between them"),
    ],
)
def test_what_is_no_name_is_refused(names, said):
    with pytest.raises(LakehouseError, match=re.escape(said)):
        rows_of_tables(names)
