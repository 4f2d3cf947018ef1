"""Whether the key of a model tells its source tables apart, and what is said if it does not."""

from dataclasses import replace

import pytest
from golden import MODEL, orders
from pyspark.sql import Row

from cdc_lakehouse.engine.changes import Changes
from cdc_lakehouse.engine.gold_options import DEFAULTS, GoldOptions
from cdc_lakehouse.engine.row_images import row_images
from cdc_lakehouse.engine.shards import key_tells_table, refuse_shared_keys, refuses_shared_keys
from cdc_lakehouse.engine.source_tables import reads_by_pattern
from cdc_lakehouse.engine.steps import follow
from cdc_lakehouse.errors import LakehouseError

IMAGES = "silver.row_images"
PATTERN, LIST = ["shop_*.orders_*"], ["shop.orders", "shop.orders_old"]


def model(names, columns, key, stars=None, on_shared_key=None):
    """A model of tables of these names, whose key is of these of its columns."""
    given = {"stars": stars} if stars else {}
    sql = f"select {columns}, image['id'] as id from {row_images(IMAGES, names, given)}"
    options = GoldOptions(DEFAULTS["current_state"], on_shared_key=on_shared_key)
    of = replace(orders().model, sql=sql, key_names=tuple(key), source_names=tuple(names))
    return replace(of, options=options)


@pytest.mark.parametrize(
    ("names", "stars", "columns", "key", "is_told"),
    [
        (PATTERN, None, "1 as one", ["id"], False),
        (PATTERN, None, "source_table as shard", ["shard", "id"], True),
        (PATTERN, None, "row_images.source_table as shard", ["shard", "id"], True),
        (PATTERN, None, "SOURCE_TABLE as shard", ["shard"], True),
        # The column is there, and not in the key; or other tables may have the same in it.
        (PATTERN, None, "source_table as shard", ["id"], False),
        (PATTERN, None, "left(source_table, 6) as shard", ["shard", "id"], False),
        (PATTERN, None, "table_name as shard", ["shard", "id"], False),
        (PATTERN, None, "image['source_table'] as shard", ["shard", "id"], False),
        # All that the stars match are a name, some of it are none.
        (PATTERN, ["tenant", "part"], "tenant, part", ["tenant", "part", "id"], True),
        (PATTERN, ["tenant", "part"], "tenant as t, part as p", ["id", "p", "t"], True),
        (PATTERN, ["tenant", "part"], "tenant, part", ["part", "id"], False),
        (PATTERN, ["tenant", "part"], "tenant, lower(part) as part", ["tenant", "part"], False),
        (["a_*.t", "b_*.t"], ["tenant"], "tenant", ["tenant", "id"], False),
        (["a_*.t", "b_*.t"], ["tenant"], "tenant, source_table as s", ["s", "id"], True),
    ],
)
def test_a_key_tells_the_table_if_it_has_all_that_differs(names, stars, columns, key, is_told):
    assert key_tells_table(model(names, columns, key, stars)) is is_told


@pytest.mark.parametrize(
    "sql",
    [
        "with a as (select *, 'x' as source_table from {0}), b as (select * from {1})"
        " select source_table as shard from (select * from a union all select * from b)",
        "select source_table as shard from {0} union all select 'x' as shard from {1}",
        "select source_table as from shard (",
    ],
)
def test_of_a_query_that_is_not_understood_nothing_is_said(sql):
    of = model(PATTERN, "1 as one", ["shard"])
    sql = sql.format(row_images(IMAGES, ["a_*.t"], {}), row_images(IMAGES, ["b_*.t"], {}))
    assert not key_tells_table(replace(of, sql=sql))


@pytest.mark.parametrize(
    ("where", "is_pattern"),
    [
        ("table_name = 'orders'", False),
        ("source_table in ('shop.orders', 'shop.orders_old')", False),
        ("table_name like 'orders%'", True),
        ("database_name = 'shop' and lower(table_name) rlike '^orders'", True),
        ("table_name = 'orders' and image['name'] like 'a%'", False),
        ("not source_table like 'crm.%'", True),
    ],
)
def test_a_pattern_is_one_of_names(where, is_pattern):
    assert reads_by_pattern(f"select 1 from {IMAGES} where {where}") is is_pattern


@pytest.mark.parametrize(
    ("names", "on_shared_key", "is_refused"),
    [
        (PATTERN, None, True),
        (PATTERN, "merge", False),
        (PATTERN, "refuse", True),
        # Who lists tables says that they are one; backticks make a name of a pattern.
        (LIST, None, False),
        (LIST, "refuse", True),
        (["shop.`orders_*`"], None, False),
    ],
)
def test_shared_keys_are_refused_by_a_pattern_or_an_option(names, on_shared_key, is_refused):
    of = model(names, "1 as one", ["id"], on_shared_key=on_shared_key)
    assert refuses_shared_keys(of) is is_refused
    told = model(names, "source_table as shard", ["shard", "id"], on_shared_key=on_shared_key)
    assert not refuses_shared_keys(told)


def test_a_pattern_in_one_of_several_selects_counts():
    selects = [f"select image['id'] as id from {row_images(IMAGES, [n], {})}" for n in PATTERN * 2]
    of = replace(model(PATTERN, "1 as one", ["id"]), sql=" union all ".join(selects))
    assert not reads_by_pattern(of.sql) and refuses_shared_keys(of)


def refusal(*rows):
    """What a run says that is answered with these shared keys."""
    table = orders(sql=MODEL.replace("table_name = 'orders'", "table_name like 'orders%'"))
    with pytest.raises(LakehouseError) as error:
        follow(refuse_shared_keys(table, "select * from new_changes", Changes()), lambda _: rows)
    return str(error.value)


def test_a_refusal_names_the_model_the_key_and_the_tables():
    one = Row(_key='{"id":5}', _tables=["shop.orders_00", "shop.orders_07"], _keys=1)
    assert refusal(one) == (
        'gold.things: the key {"id":5} is of several source tables, and its key does not tell them '
        "apart: shop.orders_00, shop.orders_07. Nothing was merged, and nothing is lost. If they "
        "are different rows, add the table to the key: `source_table as shard` in things.sql, and "
        "in its YAML the column shard and `{type: primary_key, columns: [shard, id]}`. If they are "
        "one row, as after a rename, set on_shared_key='merge': then the last change wins."
    )
    several = Row(_key='{"id":5}', _tables=["a.t", "b.t"], _keys=1_001)
    assert 'the key {"id":5} and 1,000 more keys are of several' in refusal(several)


@pytest.mark.parametrize(
    ("names", "given", "said"),
    [
        (PATTERN, {"stars": ["part"]}, "stars names 1 columns (part), and the name has 2 stars"),
        (["a_*.t", "b.t"], {"stars": ["a"]}, "row_images('b.t'): stars names 1 columns (a), and"),
        (["a_*.t"], {"stars": "tenant"}, "stars is a list: stars=['tenant']"),
        (["a_*.t"], {"star": ["tenant"]}, "row_images() has no argument star; it has stars="),
    ],
)
def test_stars_that_fit_no_name_are_refused(names, given, said):
    with pytest.raises(LakehouseError) as error:
        row_images(IMAGES, names, given)
    assert said in str(error.value)


def test_each_star_is_a_column():
    assert row_images(IMAGES, ["a_*.b*c.t"], {"stars": ["x", "y"]}) == (
        "(select *, regexp_extract(database_name, '^a_(.*)$', 1) as `x`,"
        " regexp_extract(schema_name, '^b(.*)c$', 1) as `y` from silver.row_images"
        " where (database_name rlike '^a_.*$' and schema_name rlike '^b.*c$' and table_name = 't'))"
        " as row_images"
    )
    of_several = row_images(IMAGES, ["t_*", "a.b.u_*"], {"stars": ["x"]})
    assert (
        "case when database_name is null and schema_name is null and table_name rlike '^t_.*$'"
        " then regexp_extract(table_name, '^t_(.*)$', 1)"
        " when database_name = 'a' and schema_name = 'b' and table_name rlike '^u_.*$'"
        " then regexp_extract(table_name, '^u_(.*)$', 1) end as `x` from"
    ) in of_several
