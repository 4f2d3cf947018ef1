"""`lakehouse contract`: what readers of gold are promised, as the standard's own schema has it."""

import json
import re

import pytest
import yaml
from conftest import PROJECT
from jsonschema import Draft201909Validator

from cdc_lakehouse.console import cli
from cdc_lakehouse.console.contract import tables_named
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.exits import Exit
from cdc_lakehouse.gold.contract import Project, contract
from cdc_lakehouse.protection import Line, Protection

FOLDER = PROJECT / "tests" / "operate" / "contract"
SCHEMA = json.loads((FOLDER / "odcs-json-schema-v3.0.2.json").read_text())
EXPECTED = yaml.safe_load((FOLDER / "expected.yml").read_text())
MACROS = ["macro.dbt_lakehouse.change_columns", "macro.dbt_lakehouse.row_images"]
ITEMS = """
select
    {{ change_columns() }},
    try_cast(image['order_id'] as bigint) as order_id,
    try_cast(image['line'] as int) as line_no,
    image['title'] as title,
    try_cast(image['quantity'] as int) as quantity,
    try_cast(image['unit_price'] as decimal(10, 2)) as unit_price
from {{ row_images('shop.order_items') }}
"""
HISTORY = """{{ config(materialized='history') }}
select
    {{ change_columns() }},
    try_cast(image['id'] as bigint) as id,
    unhex(image['receipt']) as receipt
from {{ row_images('shop.orders') }}
"""


def column(name, data_type, **said):
    return {"name": name, "data_type": data_type, "description": ""} | said


def model(name, sql, columns, key, **said):
    """A gold model as dbt's manifest has it."""
    return {
        "name": name,
        "unique_id": f"model.shop.{name}",
        "raw_code": sql,
        "columns": {each["name"]: each for each in columns},
        "constraints": [{"type": "primary_key", "columns": key}],
        "config": {"materialized": "current_state"},
        "group": "gold",
        "depends_on": {"macros": MACROS},
    } | said


def data_test(name, attached_to, severity, column=None, **arguments):
    return {
        "attached_node": f"model.shop.{attached_to}",
        "column_name": column,
        "test_metadata": {"name": name, "kwargs": {"model": "...", **arguments}},
        "config": {"severity": severity},
        "description": "",
    }


ORDER_ITEMS = model(
    "order_items",
    ITEMS,
    [
        column("order_id", "bigint", description="The order."),
        column("line_no", "int", meta={"source": "line"}),
        column("title", "string"),
        column("quantity", "int", constraints=[{"type": "not_null"}]),
        column("unit_price", "decimal(10, 2)"),
        column(
            "amount",
            "decimal(12, 2)",
            description="Price of all pieces.\n",
            meta={"derived": "quantity * unit_price"},
        ),
        column("_sequence", "string", description="Place of the change."),
    ],
    ["order_id", "line_no"],
    description="Lines of the orders.",
    config={"materialized": "current_state", "on_violation": {"quantity_is_not_null": "hold"}},
    constraints=[
        {"type": "primary_key", "columns": ["order_id", "line_no"]},
        {"type": "check", "name": "price_is_plausible", "expression": "unit_price < 1000000"},
    ],
)
ORDERS_HISTORY = model(
    "orders_history",
    HISTORY,
    [column("id", "bigint"), column("receipt", "binary")],
    ["id"],
    description="Orders as they were.",
    tags=["finance"],
    config={"materialized": "history"},
)
LINES = Protection(
    (
        Line(2, "shop", "", "order_items", "title", "hash", "gold"),
        Line(3, "shop", "", "order_items", "*t*le", "drop", "silver"),
        Line(4, "shop", "", "order_*", "unit_price", "mask", "silver"),
        Line(5, "crm", "", "*", "*", "drop", "silver"),
    )
)


def project(*models, protection=LINES):
    limits = {
        ("incomplete_seconds", "shop"): 600.0,
        ("silence_seconds", "shop.order_items"): 86400.0,
    }
    return Project(
        name="shop",
        version="1.4",
        models={f"gold.{each['name']}": each for each in models},
        tests=[
            data_test("values_fit_their_types", "order_items", "warn", max_rows=10),
            data_test("not_null", "order_items", "ERROR", "amount", column_name="amount"),
            data_test("changes_have_a_key", "another", "warn"),
        ],
        owners={"gold": "The team of the shop", "formats": "Others"},
        protection=protection,
        sources=["shop", "crm"],
        limit=lambda *asked: limits.get(asked),
    )


def refuse_if_invalid(document):
    Draft201909Validator.check_schema(SCHEMA)
    errors = sorted(Draft201909Validator(SCHEMA).iter_errors(document), key=str)
    assert [f"{error.json_path}: {error.message[:300]}" for error in errors] == []


def only(*models, **given):
    """The first table of a contract, and its columns by name."""
    made = project(*models, **given)
    table = contract(made, made.models)["schema"][0]
    return table, {each["name"]: each for each in table["properties"]}


def test_a_contract_says_what_the_project_declares():
    made = project(ORDER_ITEMS, ORDERS_HISTORY)
    assert contract(made, made.models) == EXPECTED


def test_the_expected_document_is_one_of_the_standard():
    refuse_if_invalid(EXPECTED)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda document: document.pop("id"), "'id' is a required property"),
        (lambda document: document["schema"][0].update(logicalType="table"), "'table' is not one"),
        (
            lambda document: document["slaProperties"][0].pop("value"),
            "'value' is a required property",
        ),
    ],
)
def test_the_schema_refuses_what_is_none(change, where):
    document = yaml.safe_load((FOLDER / "expected.yml").read_text())
    change(document)
    with pytest.raises(AssertionError, match=where):
        refuse_if_invalid(document)


def test_tables_can_be_chosen():
    made = project(ORDER_ITEMS, ORDERS_HISTORY)
    chosen = contract(made, ["gold.orders_history"])
    assert chosen["schema"] == EXPECTED["schema"][1:]
    assert chosen["slaProperties"] == EXPECTED["slaProperties"][:1]


def test_a_key_of_one_column_is_unique_and_a_flagged_delete_is_a_column():
    config = {"materialized": "current_state", "on_delete": "flag"}
    sql = HISTORY.partition("\n")[2]
    table, columns = only(model("orders", sql, [column("id", "bigint")], ["id"], config=config))
    assert table["dataGranularityDescription"] == "One row per id"
    assert columns["id"]["unique"] is True
    assert columns["_is_deleted"] == {
        "name": "_is_deleted",
        "logicalType": "boolean",
        "physicalType": "boolean",
    }
    _, columns = only(model("orders", sql, [column("id", "bigint")], ["id"]))
    assert "_is_deleted" not in columns


def test_what_is_not_known_counts_as_protected():
    """A macro of the project, a whole image or a condition on other things may read any column."""
    columns = [column("order_id", "bigint"), column("title", "string"), column("x", "string")]

    def restricted(sql, **said):
        found = only(model("t", sql, columns, ["order_id"], **said))[1].values()
        return [each["name"] for each in found if "classification" in each]

    known = ITEMS.replace("image['title'] as title", "image['note'] as title, image['no'] as x")
    assert restricted(known) == []
    macros = {"macros": [*MACROS, "macro.shop.cents"]}
    assert restricted(known, depends_on=macros) == ["order_id", "title", "x"]
    assert restricted(ITEMS.replace("image['title']", "to_json(image)")) == ["title", "x"]
    anywhere = known.replace("row_images('shop.order_items')", "row_images('shop*.order_*')")
    assert restricted(anywhere) == ["order_id", "title", "x"]  # line 5 is of all columns of crm


def test_tables_are_named_with_their_schema_or_without():
    known = ["gold.customers", "gold.orders", "gold.payments"]
    assert tables_named([], known) == known
    assert tables_named(["orders", "gold.customers", "gold.orders"], known) == [
        "gold.orders",
        "gold.customers",
    ]
    with pytest.raises(
        LakehouseError, match=r"no gold table order\. Did you mean gold\.orders or "
    ):
        tables_named(["order"], known)
    with pytest.raises(LakehouseError, match=r"no gold table\. `lakehouse add-table` writes one"):
        tables_named([], [])


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """Types a command in the samples' project, whose lakehouse does not exist."""
    folder = tmp_path_factory.mktemp("contract")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(PROJECT)
        patch.setenv("LAKEHOUSE_DIR", str(folder / "lake"))
        patch.setenv("DBT_TARGET_PATH", str(folder / "target"))
        patch.setenv("DBT_LOG_PATH", str(folder / "logs"))
        yield lambda *arguments: cli.main([*arguments, "--project-dir", str(PROJECT)])
        assert not (folder / "lake" / "warehouse").exists()


@pytest.mark.full
def test_the_samples_have_a_contract(typed, tmp_path, capsys):
    assert typed("contract", "--output", str(tmp_path / "contract.yml")) == Exit.DONE
    assert "contract.yml: 5 tables" in capsys.readouterr().out
    document = yaml.safe_load((tmp_path / "contract.yml").read_text())
    refuse_if_invalid(document)
    tables = {table["physicalName"]: table for table in document["schema"]}
    assert list(tables) == [
        f"gold.{name}"
        for name in ("customers", "order_items", "orders", "orders_history", "payments")
    ]
    columns = {each["name"]: each for each in tables["gold.payments"]["properties"]}
    assert columns["receipt"] == {
        "name": "receipt",
        "logicalType": "string",
        "physicalType": "binary",
        "description": "Receipt as the provider sent it.",
        "transformSourceObjects": ["shop.payments.receipt"],
    }
    assert columns["_sequence"]["description"].startswith("Position of the change in the order of")
    assert [test["name"] for test in tables["gold.payments"]["quality"]] == [
        *("changes_have_a_key", "dropped_tables_have_no_rows"),
        *("source_columns_are_read", "values_fit_their_types"),
    ]
    assert document["team"] == [{"name": "The team that runs this lakehouse", "role": "owner"}]


@pytest.mark.full
def test_the_page_shows_the_beginning_of_one(typed, capsys):
    page = (PROJECT / "docs" / "contract.md").read_text()
    [shown] = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert typed("contract", "gold.orders") == Exit.DONE
    assert capsys.readouterr().out.startswith(shown)


@pytest.mark.full
def test_a_table_is_not_known(typed, capsys):
    assert typed("contract", "gold.ordres") == Exit.NOTHING
    assert "There is no gold table gold.ordres. Did you mean gold.orders" in capsys.readouterr().err
