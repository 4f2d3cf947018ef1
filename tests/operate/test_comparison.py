"""Our column of docs/comparison.md: bytes of comparison.py, landed by the command, built by dbt."""

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from comparison import CASES, DIGITS
from conftest import PROJECT
from encoders.project import remove_gold

pytestmark = pytest.mark.long

MODEL = """select
    {{ change_columns() }},
    try_cast(image['id'] as bigint) as id,
    image['name'] as name,
    try_cast(image['quantity'] as int) as quantity,
    try_cast(image['price'] as decimal(20, 6)) as price,
    try_cast(image['due_on'] as date) as due_on
from {{ ref('row_images') }}
where database_name = 'store' and table_name = 'items'
"""
YAML = """models:
  - name: items
    description: Items of the store. One row per item.
    constraints: [{type: primary_key, columns: [id]}]
    data_tests: [changes_have_a_key, values_fit_their_types]
    columns:
      - {name: id, data_type: bigint, description: Number.}
      - {name: name, data_type: string, description: Name.}
      - {name: quantity, data_type: int, description: Pieces.}
      - {name: price, data_type: "decimal(20, 6)", description: Price.}
      - {name: due_on, data_type: date, description: Day it is due.}
"""


def change_project(project):
    """Route the topics compare.*, and leave one table to gold: items."""
    topics = project / "seeds" / "topics.csv"
    topics.write_text(topics.read_text() + "compare.*,oms_canal,,,,\n")
    remove_gold(project)
    folder = project / "models" / "gold" / "store"
    folder.mkdir()
    (folder / "items.sql").write_text(MODEL)
    (folder / "_store.yml").write_text(YAML)


class Comparison:
    """All cases, one topic each: a batch of each is landed, and dbt runs once for all of them."""

    def __init__(self, lakehouse, landing):
        self.lakehouse = lakehouse
        self.gold = [self.run(batch, landing) for batch in range(2)]

    def run(self, batch, landing):
        """Land the batch with the real command, build, and return the rows of gold."""
        for name, case in CASES.items():
            case.write(batch, landing / f"compare.{name}")
        command = [Path(sys.executable).with_name("lakehouse"), "ingest", "files", landing]
        environment = {**os.environ, "LAKEHOUSE_DIR": str(self.lakehouse.home)}
        subprocess.run(
            [*command, "--project-dir", self.lakehouse.project], env=environment, check=True
        )
        self.lakehouse.dbt("build", "--resource-type", "seed", "--resource-type", "model")
        rows = self.lakehouse.query(
            "select *, cast(price as string) as price_text, cast(due_on as string) as due_on_text"
            " from gold.items order by id"
        )
        return [{**row, "price": row["price_text"], "due_on": row["due_on_text"]} for row in rows]

    def rows(self, name):
        """Return the rows of gold after each batch that has the case."""
        columns = ("id", "name", "quantity", "price", "due_on")
        return [
            [
                tuple(row[column] for column in columns)
                for row in gold
                if row["_topic"] == f"compare.{name}"
            ]
            for gold in self.gold[: len(CASES[name].batches)]
        ]

    def problems(self, name):
        """Return (id, column, code, text) of what gold says it could not keep, after the last."""
        return [
            (row["id"], *problem)
            for row in self.gold[-1]
            if row["_topic"] == f"compare.{name}"
            for problem in row["_problems"]
        ]

    def accounting(self, name):
        """Return (messages, row changes, rejected) of the case, as the lakehouse counts them."""
        counted = self.lakehouse.query(
            "select sum(messages) as messages, sum(row_changes) as row_changes,"
            " sum(rejected) as rejected, sum(missing_offsets) as missing"
            f" from silver.message_accounting where topic = 'compare.{name}'"
        )[0]
        assert counted.pop("missing") == 0
        return tuple(counted.values())


@pytest.fixture(scope="module")
def comparison(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("comparison", change=change_project)
    return Comparison(lakehouse, tmp_path_factory.mktemp("comparison-landing"))


def assert_right(comparison, name, rejected=0):
    """Assert the rows after each run, and that each message is a row change or rejected."""
    case = CASES[name]
    assert comparison.rows(name) == case.rows
    assert comparison.accounting(name) == (case.messages, case.messages - rejected, rejected)


def test_malformed_text_is_rejected_with_its_bytes(comparison):
    assert_right(comparison, "malformed_text", rejected=1)
    rejected = comparison.lakehouse.query(
        "select topic, offset, reject_reason, value from silver.rejected_messages"
    )
    assert [tuple(row.values()) for row in rejected] == [
        ("compare.malformed_text", 1, "not_json", CASES["malformed_text"].batches[0][1])
    ]


def test_a_change_without_the_key_is_reported(comparison):
    assert_right(comparison, "without_key")
    reported = comparison.lakehouse.query(
        "select _topic, _offset, id, name, quantity from gold_storage.items_without_key"
    )
    assert [tuple(row.values()) for row in reported] == [
        ("compare.without_key", 1, None, "nobody", 1)
    ]


def test_text_in_a_number_is_null_and_named(comparison):
    assert_right(comparison, "bad_number")
    assert comparison.problems("bad_number") == [(32, "quantity", "invalid", "abc")]


def test_a_zero_date_is_null_and_named(comparison):
    assert_right(comparison, "zero_date")
    assert comparison.problems("zero_date") == [(42, "due_on", "zero_date", "0000-00-00")]


@pytest.mark.parametrize("name", ["malformed_text", "without_key", "bad_number", "zero_date"])
def test_the_run_after_a_bad_message_goes_on(comparison, name):
    first, second = comparison.rows(name)
    assert [row[1] for row in second if row not in first] == ["next run"]


def test_an_old_insert_redelivered_changes_nothing(comparison):
    assert_right(comparison, "redelivered")


def test_changes_out_of_order_in_a_batch(comparison):
    assert_right(comparison, "out_of_order")


def test_a_late_update_after_a_delete_brings_nothing_back(comparison):
    assert_right(comparison, "late_after_delete")
    kept = comparison.lakehouse.query(
        "select operation, after['name'] as name from silver.row_changes"
        " where topic = 'compare.late_after_delete' order by sequence"
    )
    assert [tuple(row.values()) for row in kept] == [
        ("insert", "first"),
        ("update", "second"),
        ("delete", None),
    ]


def test_a_late_update_in_a_later_run(comparison):
    assert_right(comparison, "late_update")


def test_a_bare_decimal_keeps_its_digits(comparison):
    assert_right(comparison, "many_digits")
    logged = comparison.lakehouse.query(
        "select after['price'] as price from silver.events where topic = 'compare.many_digits'"
    )
    assert logged == [{"price": DIGITS}]
    assert comparison.problems("many_digits") == []


def test_an_update_that_changes_the_key_removes_the_old_row(comparison):
    assert_right(comparison, "key_change")


def test_nothing_vanished_and_dbt_test_says_what_is_wrong(comparison):
    """The conservation tests pass, and the three findings are warnings that name themselves."""
    said = comparison.lakehouse.dbt(
        *("test", "-s", "accounting_adds_up", "every_message_has_one_result"),
        *("messages_are_not_rejected", "items"),
    )
    warned = {name.split("_items_")[0] for name, message in said.items() if "Got" in message}
    assert warned == {"messages_are_not_rejected", "changes_have_a_key", "values_fit_their_types"}
    assert {"accounting_adds_up", "every_message_has_one_result"} <= set(said)


def test_the_page_names_every_test_and_no_other():
    """docs/comparison.md may say only what a test repeats, with the versions that are installed."""
    page = (PROJECT / "docs" / "comparison.md").read_text()
    for file in ("test_comparison.py", "test_comparison_peers.py"):
        text = (PROJECT / "tests" / "operate" / file).read_text()
        tests = set(re.findall(r"^def (test_\w+)", text, re.MULTILINE))
        assert set(re.findall(rf"{file}::(test_\w+)", page)) == tests
    assert f"pyspark {version('pyspark')}, delta-spark {version('delta-spark')}" in page
    assert f"dbt-spark {version('dbt-spark')}" in page
