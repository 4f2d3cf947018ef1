"""Tables of one shape in one gold table: with what tells them apart in the key, and without."""

import json

import pytest
from laboratory import Laboratory, change, statement

pytestmark = pytest.mark.full

STARS = "tenant, part"
MODEL = """{config}select
    {{{{ change_columns() }}}},
    {told}
    try_cast(image['id'] as bigint) as id,
    image['name'] as name
from {{{{ row_images('shop_*.orders_*'{stars}) }}}}
"""
ID = "\n      - {name: id, data_type: bigint}\n      - {name: name, data_type: string}"
YAML = """
  - name: {name}
    constraints: [{{type: primary_key, columns: [{key}]}}]
    data_tests: [changes_have_a_key, dropped_tables_have_no_rows, source_columns_are_read]
    columns:{columns}
"""
# The key of each model, and its options.
MODELS = {
    "all_orders": (["shard", "id"], "on_drop='apply'"),
    "all_orders_history": (["tenant", "part", "id"], "materialized='history'"),
    "orders_by_id": (["id"], ""),
}
RUN = ("run", "-s", "events", "row_images", "dropped_tables")
A0, A1, A2, B0 = "shop_a.orders_00", "shop_a.orders_01", "shop_a.orders_02", "shop_b.orders_00"
REFUSED = (
    'gold.orders_by_id: the key {"id":1} is of several source tables, and its key does not tell'
    f" them apart: {A0}, {B0}. Nothing was merged"
)


def write_models(project, models):
    folder = project / "models" / "gold" / "shards"
    folder.mkdir(exist_ok=True)
    described = "models:"
    for name, (key, options) in models.items():
        told = [column for column in key if column != "id"]
        stars = f", stars={told}" if "tenant" in told else ""
        selected = {"shard": "source_table as shard,"}
        config = f"{{{{ config({options}) }}}}\n\n" if options else ""
        lines = "\n    ".join(selected.get(column, f"{column},") for column in told)
        (folder / f"{name}.sql").write_text(
            MODEL.format(config=config, told=lines, stars=stars).replace("    \n", "")
        )
        columns = "".join(f"\n      - {{name: {each}, data_type: string}}" for each in told)
        described += YAML.format(name=name, key=", ".join(key), columns=columns + ID)
    (folder / "_shards.yml").write_text(described)


@pytest.fixture(scope="module")
def laboratory(open_lakehouse, tmp_path_factory):
    """Two shards of shop_a whose numbers differ, merged by all models."""
    lakehouse = open_lakehouse("sharded", change=lambda project: write_models(project, MODELS))
    laboratory = Laboratory(lakehouse, tmp_path_factory.mktemp("sharded-landing"))
    laboratory.land(
        of(A0, change("INSERT", 100, row(1, "one"), row(2, "two"))),
        of(A1, change("INSERT", 110, row(3, "three"), row(5, "five"))),
    )
    lakehouse.dbt(*RUN, *MODELS)
    return laboratory


def of(table, message):
    database, _, name = table.partition(".")
    return message | {"database": database, "table": name}


def row(number, name):
    return {"id": str(number), "name": name}


def rows(laboratory, columns="shard, id, name", model="all_orders", order="id, shard"):
    found = laboratory.lakehouse.query(f"select {columns} from gold.{model} order by {order}")
    return [tuple(each.values()) for each in found]


def by_id(laboratory):
    return rows(laboratory, "id, name, _source_table", "orders_by_id", "id")


def test_a_new_shard_joins_and_two_shards_may_have_one_key(laboratory):
    laboratory.land(
        of(B0, change("INSERT", 120, row(1, "one of b"))),
        of(A2, change("INSERT", 130, row(4, "four"))),
    )
    (error,) = laboratory.lakehouse.dbt(*RUN, *MODELS, fails=True)
    assert REFUSED in error
    assert rows(laboratory) == [
        (A0, 1, "one"),
        (B0, 1, "one of b"),
        (A0, 2, "two"),
        (A1, 3, "three"),
        (A2, 4, "four"),
        (A1, 5, "five"),
    ]
    # The table was not built again for it.
    assert laboratory.history("all_orders")[0]["operation"] == "MERGE"
    assert by_id(laboratory) == [(1, "one", A0), (2, "two", A0), (3, "three", A1), (5, "five", A1)]


def test_a_model_whose_key_does_not_tell_the_table_merges_nothing_until_it_is_mended(laboratory):
    laboratory.land(of(A0, change("UPDATE", 140, row(2, "second"), old=[{"name": "two"}])))
    (error,) = laboratory.lakehouse.dbt(*RUN, *MODELS, fails=True)
    assert REFUSED in error
    # A build refuses them, too, and leaves what is there.
    (error,) = laboratory.lakehouse.dbt("run", "--full-refresh", "-s", "orders_by_id", fails=True)
    assert REFUSED in error
    assert by_id(laboratory) == [(1, "one", A0), (2, "two", A0), (3, "three", A1), (5, "five", A1)]
    mended = {"orders_by_id": (["shard", "id"], "")}
    last = {"last_orders": (["id"], "on_shared_key='merge'")}
    write_models(laboratory.lakehouse.project, MODELS | mended | last)
    laboratory.lakehouse.dbt("run", "-s", "orders_by_id", "last_orders")
    everything = [
        (A0, 1, "one"),
        (B0, 1, "one of b"),
        (A0, 2, "second"),
        (A1, 3, "three"),
        (A2, 4, "four"),
        (A1, 5, "five"),
    ]
    assert rows(laboratory, model="orders_by_id") == rows(laboratory) == everything
    found = rows(laboratory, "id, name, _source_table", "last_orders", "id")
    assert found[:2] == [(1, "one of b", B0), (2, "second", A0)]


def test_a_truncate_takes_the_rows_of_its_shard_and_a_row_may_move_to_another(laboratory):
    """The row comes to its new shard before it leaves the old one, and stays there."""
    laboratory.land(
        of(A0, statement(200, "truncate table `orders_00`")),
        of(A2, change("INSERT", 210, row(3, "three"))),
        of(A1, change("DELETE", 220, row(3, "three"))),
        of(A0, change("INSERT", 230, row(2, "new"))),
    )
    laboratory.lakehouse.dbt(*RUN, "all_orders", "all_orders_history")
    assert rows(laboratory) == [
        (B0, 1, "one of b"),
        (A0, 2, "new"),
        (A2, 3, "three"),
        (A2, 4, "four"),
        (A1, 5, "five"),
    ]


def test_a_history_has_the_versions_of_each_shard(laboratory):
    """A change is committed at the millisecond of its position."""
    milliseconds = "unix_millis({}) - 1790000000000"
    columns = (
        f"{milliseconds.format('valid_from')} as begin, {milliseconds.format('valid_to')} as e"
    )
    columns = f"{STARS}, id, name, {columns}, is_current"
    found = rows(laboratory, columns, "all_orders_history", f"{STARS}, id, valid_from")
    assert found == [
        ("a", "00", 1, "one", 100, 200, False),
        ("a", "00", 2, "two", 100, 140, False),
        ("a", "00", 2, "second", 140, 200, False),
        ("a", "00", 2, "new", 230, None, True),
        ("a", "01", 3, "three", 110, 220, False),
        ("a", "01", 5, "five", 110, None, True),
        ("a", "02", 3, "three", 210, None, True),
        ("a", "02", 4, "four", 130, None, True),
        ("b", "00", 1, "one of b", 120, None, True),
    ]


def test_an_extract_of_a_shard_and_a_drop_of_another_remove_their_own_rows(laboratory, tmp_path):
    """The key of the extract is that of the model without the column that tells the shard."""
    file = tmp_path / "orders_01.csv"
    file.write_text("id,name\n6,six\n")
    asked = ("ingest", "snapshot", "--table", A1, "--taken-at", "2026-10-01 00:00:00", str(file))
    code, said, errors = laboratory.lakehouse.command(*asked, "--dry-run", "--json")
    assert code == 1, errors
    compared = json.loads(said)
    assert {name: compared[name] for name in ("equal", "missing", "extra", "different")} == {
        **{"equal": 0, "missing": 1, "extra": 1, "different": 0}
    }
    assert compared["keys"] == {
        "missing": [f"shard={A1}, id=6"],
        "extra": [f"shard={A1}, id=5"],
    }
    code, said, errors = laboratory.lakehouse.command(*asked)
    assert code == 0, errors
    laboratory.land(of(A2, statement(300, "drop table `orders_02`")))
    laboratory.lakehouse.dbt(*RUN, "all_orders", "all_orders_history")
    left = [(B0, 1, "one of b"), (A0, 2, "new"), (A1, 6, "six")]
    assert rows(laboratory) == left
    stored = {each: laboratory.stored(each) for each in ("all_orders", "all_orders_history")}
    laboratory.lakehouse.dbt("run", "--full-refresh", "-s", *stored)
    assert rows(laboratory) == left
    assert {each: laboratory.stored(each) for each in stored} == stored


def test_an_erasure_takes_the_row_of_one_shard(laboratory):
    laboratory.land(of(B0, change("INSERT", 400, row(2, "two of b"))))
    laboratory.lakehouse.dbt(*RUN, "all_orders", "all_orders_history", "orders_by_id")
    code, said, errors = laboratory.lakehouse.command("erase", A0, "--key", "id=2")
    assert code == 0, said + errors
    left = [(B0, 1, "one of b"), (B0, 2, "two of b"), (A1, 6, "six")]
    assert rows(laboratory) == left
    found = rows(laboratory, f"{STARS}, id", "all_orders_history", f"{STARS}, id")
    assert ("a", "00", 2) not in found
    assert ("a", "00", 1) in found and ("b", "00", 2) in found
