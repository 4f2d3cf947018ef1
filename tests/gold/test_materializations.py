"""Gold models under the field's names: scd1, scd2, track_history_columns."""

import pytest
from test_fixed_names import model as dbt_model
from test_gold_table import ID, NAME, OWN, node
from test_read_models import SQL, YAML

from cdc_lakehouse.engine.columns import gold_columns
from cdc_lakehouse.engine.fixed_names import refuse_other_names
from cdc_lakehouse.engine.gold_options import read_options
from cdc_lakehouse.engine.materializations import gold_kind, kind_of
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.gold.read_models import models_of

NAMES = {*OWN, "track_history_columns"}


def options(kind, **given):
    return read_options(node(kind, **given), ["id"], NAMES, {})


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("current_state", "current_state"),
        ("history", "history"),
        ("scd1", "current_state"),
        ("scd2", "history"),
        ("table", None),
        ("change_log", None),
        (None, None),
    ],
)
def test_a_name_is_of_one_materialization_or_of_none(name, kind):
    assert gold_kind(name) == kind


def test_a_model_that_is_none_of_gold_has_no_kind():
    with pytest.raises(KeyError, match="table"):
        kind_of(node("table"))


@pytest.mark.parametrize(("other", "ours"), [("scd1", "current_state"), ("scd2", "history")])
def test_a_table_is_the_same_under_either_name(other, ours):
    """Its columns and what decides its content are, so that nothing is rebuilt."""
    shown = {"name": "valid_from", "data_type": "timestamp"}
    columns = (ID, NAME, shown)
    assert gold_columns(node(other, columns)) == gold_columns(node(ours, columns))
    assert options(other, on_truncate="ignore") == options(ours, on_truncate="ignore")


def test_the_tracked_columns_have_two_names():
    found = options("scd2", track_history_columns=["name"])
    assert found == options("history", track_columns=["name"])
    assert found.values["track_columns"] == ["name"]


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("scd1", {"track_history_columns": ["name"]}, "there is no such option of scd1"),
        ("scd1", {"track_columns": ["name"]}, "there is no such option of scd1"),
        ("scd2", {"track_history_column": ["name"]}, "did you mean track_history_columns?"),
        (
            "history",
            {"track_history_columns": ["nme"]},
            'option track_history_columns: found "nme"; the columns of its YAML are id, name.',
        ),
        (
            "scd2",
            {"track_history_columns": ["id"]},
            "option track_history_columns: id is of the key",
        ),
        (
            "history",
            {"track_columns": ["name"], "track_history_columns": ["name"]},
            "option track_history_columns: track_columns is given, too; they are one option, "
            "keep one.",
        ),
    ],
)
def test_a_wrong_option_is_named_as_it_was_typed(kind, given, said):
    with pytest.raises(LakehouseError) as refused:
        options(kind, **given)
    assert said in str(refused.value)


def test_the_schema_of_a_model_is_checked_under_either_name():
    log = dbt_model("models/silver/events.sql", "change_log", "silver", "silver")
    orders = dbt_model("models/gold/orders.sql", "scd2", "silver_gold", "gold", package="shop")
    with pytest.raises(
        LakehouseError, match=r"models/gold/orders\.sql would be silver_gold\.orders"
    ):
        refuse_other_names([log, orders], "dev", "silver")


@pytest.mark.parametrize("name", ["history", "scd2"])
def test_a_history_is_known_by_its_sql(tmp_path, name):
    folder = tmp_path / "models" / "gold" / "shop"
    folder.mkdir(parents=True)
    sql = SQL.replace("current_state", name)
    sql = sql.format(where="source_table = 'shop.orders'", phone="image['phone']")
    (folder / "orders.sql").write_text(sql)
    (folder / "_gold.yml").write_text(YAML.format(name="orders"))
    (model,) = models_of(tmp_path)
    assert model.is_history
