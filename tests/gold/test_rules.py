"""Rules and derived columns of gold models, which are decided and computed after the merge."""

import json
import os
import random
import re
from dataclasses import replace
from decimal import Decimal

import pytest
from conftest import PROJECT
from laboratory import Laboratory, change, write_models
from test_gold_table import ID, NAME, model, node, table
from yaml import safe_load

from cdc_lakehouse.engine.change_feed import FeedRows
from cdc_lakehouse.engine.columns import gold_columns
from cdc_lakehouse.engine.plain_table import need_of
from cdc_lakehouse.engine.rules import read_rules
from cdc_lakehouse.engine.validated_rows import ValidatedRows, shown_columns
from cdc_lakehouse.errors import LakehouseError

pytestmark = pytest.mark.full

PAGE = (PROJECT / "docs" / "rules.md").read_text()

# What needs no Spark.

ROW = ("id", "name", "price", "quantity")
DERIVED = {"name": "total", "data_type": "int", "meta": {"derived": "price * quantity"}}


def rules(check=None, column=None, on_violation="keep", further=(), kind="current_state"):
    """Return the rules of a model with a check of its own, one of its `price`, and more columns."""
    columns = [{"name": name, "data_type": "int"} for name in ROW]
    columns[2]["constraints"] = [column] if column else []
    model = {
        "name": "things",
        "columns": {each["name"]: each for each in (*columns, *further)},
        "constraints": [{"type": "primary_key", "columns": ["id"]}, *([check] if check else [])],
        "config": {"materialized": kind},
    }
    return read_rules(model, ["id"], on_violation)


def check(expression, name="r", **more):
    return {"type": "check", "name": name, "expression": expression, **more}


def test_a_rule_is_a_check_or_that_a_column_is_not_null():
    found = rules(check("total > price", "a"), {"type": "not_null"}, further=[DERIVED])
    assert [(r.name, r.columns, r.reads, r.on_violation) for r in found.rules] == [
        ("price_is_not_null", ("price",), ("price",), "keep"),
        ("a", (), ("total", "price"), "keep"),
    ]
    assert [(d.column.name, d.reads, d.after) for d in found.derived] == [
        ("total", ("price", "quantity"), "quantity")
    ]
    assert not rules()
    # The key is never null.
    not_null = {"type": "not_null", "columns": ["id"]}
    assert not rules(not_null)


def test_each_rule_has_what_the_option_says_of_it():
    both = check("price > 1", "a"), check("price > 0", "b")
    found = rules(*both, on_violation={"b": "null", "a": "hold"})
    assert [(r.name, r.on_violation) for r in found.rules] == [("b", "null"), ("a", "hold")]
    assert {r.on_violation for r in rules(*both, on_violation="hold").rules} == {"hold"}


@pytest.mark.parametrize(
    "given, said",
    [
        ({"check": check("")}, "rule r: its expression is empty; write a condition"),
        ({"check": check("prize > 0")}, "reads the unknown column prize; it may read id, name"),
        ({"check": check("price > 0", "")}, "`price > 0` has no name; give it a name"),
        ({"check": check("price >")}, "`price >` is no expression"),
        ({"check": check("price > 0) or (true")}, "is not one expression"),
        ({"check": check("max(price) > 0")}, "`max(price) > 0` has an aggregate function"),
        ({"check": check("price > lag(price) over ()")}, "has a window function"),
        ({"check": check("price in (select 1)")}, "has a subquery"),
        ({"check": check("_operation = 'insert'")}, "reads the unknown column _operation"),
        ({"check": check("price > 0"), "column": check("price > 1")}, "two rules are called r"),
        ({"check": check("price > 0", "invalid")}, "a rule is called invalid"),
        (
            {"check": check("price > 0"), "on_violation": "null"},
            "rule r: on_violation is null, and the rule is of no column; declare it under",
        ),
        (
            {"check": check("id > 0", columns=["id"]), "on_violation": {"r": "null"}},
            "rule r: id is of the key and cannot be null; set on_violation of it to keep or hold",
        ),
        (
            {"column": {"type": "not_null"}, "on_violation": "null"},
            "null cannot mend a column that must not be null",
        ),
        (
            {"check": check("price > 0"), "on_violation": {"q": "hold"}},
            "option on_violation: there is no rule q; its rules are r",
        ),
        ({"further": [DERIVED | {"name": "id"}]}, "column id is derived and of the key"),
        (
            {"further": [DERIVED, DERIVED | {"name": "x", "meta": {"derived": "total"}}]},
            "column x: `total` reads the unknown column total",
        ),
    ],
)
def test_what_cannot_be_a_rule_is_refused_with_what_to_do(given, said):
    with pytest.raises(LakehouseError) as error:
        rules(**given)
    assert str(error.value).startswith("things: ")
    assert said in str(error.value)


def test_the_columns_of_a_model_stand_as_in_its_yaml():
    further = ({"name": "quantity", "data_type": "int"}, DERIVED, {"name": "z", "data_type": "int"})
    yaml = node(columns=(ID, NAME, {"name": "price", "data_type": "int"}, *further))
    columns = gold_columns(yaml)
    assert "total" not in [column.name for column in columns]
    made = replace(model(columns=columns), row_rules=read_rules(yaml, ["id"], "keep"))
    names = [column.name for column in shown_columns(made)]
    assert names[:6] == ["id", "name", "price", "quantity", "total", "z"]
    assert ValidatedRows(made).digest
    # Every row of a model without rules is shown as it is stored.
    assert ValidatedRows(model()).digest == ""


def test_a_column_that_must_not_be_null_is_no_constraint_of_delta():
    """A tombstone has nulls, and would fail the merge that brings it."""
    made = table()
    columns = gold_columns(node(columns=(ID, NAME | {"constraints": [{"type": "not_null"}]})))
    made = replace(made, model=model(columns=columns))
    assert "`name` string" in made.create
    assert "not null" not in made.create
    assert all(not column["constraints"] for column in FeedRows(made.model).definitions)


def test_the_example_of_the_page_is_what_the_page_says():
    text = re.search(r"^```yaml\n(.*?)^      - \*", PAGE, re.MULTILINE | re.DOTALL)[1]
    [yaml] = safe_load(text)
    columns = {each["name"]: each for each in yaml["columns"]}
    policies = yaml["config"]["on_violation"]
    found = read_rules(
        yaml | {"columns": columns, "config": {"materialized": "current_state"}},
        ["order_id", "line_no"],
        policies,
    )
    assert {rule.name: rule.on_violation for rule in found.rules} == {
        "quantity_is_not_null": "keep",
        "price_is_plausible": "hold",
    }
    assert [each.column.name for each in found.derived] == ["amount"]
    # All that the samples' model has is there, too.
    models = safe_load((PROJECT / "models/gold/shop/_shop.yml").read_text())["models"]
    [model_of_samples] = [each for each in models if each["name"] == yaml["name"]]
    named = [c["name"] for c in model_of_samples["columns"] if not c["name"].startswith("_")]
    assert [*named, "amount"] == list(columns)


def test_other_rules_write_the_copy_again_though_nothing_is_new():
    assert need_of(7, 7, 7, 0, False, is_alike=False) == "replace"
    assert need_of(7, 7, 7, 0, False) == "nothing"


# A table of the laboratory.

COLUMNS = {
    "id": "try_cast(image['id'] as bigint)",
    "name": "image['name']",
    "price": "try_cast(image['price'] as decimal(6, 2))",
    "quantity": "try_cast(image['quantity'] as int)",
}
# What is computed is declared in the middle, and reads a column that comes later.
YAML = """
  - name: {name}
    description: Things of the laboratory. One row per thing.
    constraints:
      - {{type: primary_key, columns: [id]}}
      - {{type: check, name: is_not_dear, expression: total <= 500}}
    data_tests: [values_fit_their_types, rules_are_kept, rows_are_shown_or_held]
    columns:
      - {{name: id, data_type: bigint, description: Number.}}
      - name: name
        data_type: string
        description: Name.
        constraints:
          - {{type: not_null}}
          - {{type: check, name: is_named, expression: name <> 'bad'}}
      - name: total
        data_type: decimal(5, 2)
        description: Price of all pieces.
        meta: {{derived: price * quantity}}
      - name: price
        data_type: decimal(6, 2)
        description: Price.
        constraints: [{{type: check, name: is_not_negative, expression: price >= 0}}]
      - {{name: quantity, data_type: int, description: Pieces.}}
"""
POLICIES = "on_violation={'is_not_negative': 'null', 'is_not_dear': 'hold'}"
KEPT = "on_violation={'is_not_negative': 'null'}"


def models(policies):
    return {
        "things": f"plain_table=true, {policies}",
        "things_history": f"materialized='history', change_feed=true, {policies}",
    }


TYPES = {"id": "bigint", "name": "varchar(20)", "price": "varchar(9)", "quantity": "int"}


def write_project(project, policies=POLICIES, yaml=YAML):
    write_models(project, models(policies), COLUMNS, yaml)


@pytest.fixture(scope="module")
def laboratory(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("rules", change=write_project)
    made = Laboratory(lakehouse, tmp_path_factory.mktemp("rules-landing"), models(POLICIES))
    write_project(lakehouse.project)
    return made


# The rows as plain Python has them.


def validated(row):
    """Return a row as gold shows it, the codes of its problems, and whether it is held."""
    name, quantity = row["name"], int(row["quantity"])
    fits = row["price"] != "abc"
    price = Decimal(row["price"]) if fits else None
    total = price * quantity if fits else None
    codes = [] if fits else ["invalid"]
    if fits and abs(total) >= 1000:
        codes.append("out_of_range")
        total = None
    held = total is not None and total > 500
    if name is None:
        codes.append("name_is_not_null")
    if name == "bad":
        codes.append("is_named")
    if fits and price < 0:
        codes.append("is_not_negative")
        price = total = None
    if held:
        codes.append("is_not_dear")
    return (int(row["id"]), name, price, quantity, total, tuple(sorted(codes))), held


class Source:
    """A source table that is changed at random: its rows, their versions, and the messages."""

    def __init__(self, seed):
        self.random, self.rows, self.versions, self.messages = random.Random(seed), {}, [], []

    def step(self, position):
        key = str(self.random.randrange(1, 9))
        row = self.rows.get(key)
        if row is None:
            after = {"id": key, **{column: self._value(column) for column in list(TYPES)[1:]}}
            message = change("INSERT", position, after)
        elif self.random.random() < 0.12:
            after, message = None, change("DELETE", position, row)
        else:
            # Most updates carry a part of what the total is made of.
            column = self.random.choice(["name", "price", "quantity", "quantity"])
            after = {**row, column: self._value(column)}
            part = {"id": key, column: after[column]}
            message = change("UPDATE", position, part, old=[{column: row[column]}])
        self.messages.append(message | {"mysqlType": TYPES})
        if after:
            self.rows[key] = after
            if after != row:
                self.versions.append(after)
        else:
            del self.rows[key]

    def _value(self, column):
        return self.random.choice(
            {
                "name": ["a", "b", "bad", None],
                "price": ["1.00", "9.50", "-3.00", "300.00", "abc"],
                "quantity": ["1", "2", "60"],
            }[column]
        )


def key(row):
    return [str(value) for value in row]


def of(rows, held):
    return sorted((row for row, is_held in map(validated, rows) if is_held is held), key=key)


def assert_right(laboratory, source):
    rows = list(source.rows.values())

    def found(table, where="true"):
        found = laboratory.lakehouse.query(
            f"select id, name, price, quantity, total, _problems from {table} where {where}"
        )
        columns = ("id", "name", "price", "quantity", "total")
        return sorted(
            (
                (*(row[c] for c in columns), tuple(sorted(p["code"] for p in row["_problems"])))
                for row in found
            ),
            key=key,
        )

    assert found("gold.things") == of(rows, held=False)
    assert found("gold_storage.things_held") == of(rows, held=True)
    assert found("gold.things_history", "is_current") == of(rows, held=False)
    late = "timestamp'9000-01-01'"
    for function in (f"things_as_of({late})", f"things_as_known({late}, {late})"):
        assert found(f"gold.{function}") == of(rows, held=False)
    assert found("gold.things_history") == of(source.versions, held=False)
    assert found("gold_storage.things_history_held") == of(source.versions, held=True)
    for name in ("things", "things_history"):
        for one, other in (("gold", "gold_plain"), ("gold_plain", "gold")):
            same = f"(select * from {one}.{name}) except all (select * from {other}.{name})"
            assert laboratory.lakehouse.query(same) == []
        [counts] = laboratory.lakehouse.query(f"select * from gold_storage.{name}_accounting")
        assert counts["merged_rows"] == counts["shown_rows"] + counts["held_rows"]
        assert counts["deleted_keys"] == len({v["id"] for v in source.versions} - set(source.rows))
    assert counts["merged_rows"] == len(source.versions)


def test_a_rule_judges_what_is_merged_in_any_order(laboratory):
    """Partial updates in any order and batching, delivered twice: the rows of plain Python."""
    source = Source(int(os.environ["SEED"]))
    for position in range(100, 180):
        source.step(position)
    messages = source.messages + source.random.sample(source.messages, 10)
    source.random.shuffle(messages)
    laboratory.deliver(*messages[:50], models=models(POLICIES))
    laboratory.deliver(*messages[50:], models=models(POLICIES))
    assert_right(laboratory, source)
    assert of(source.versions, held=True)
    laboratory.source = source


def test_what_breaks_a_rule_is_counted_and_warned_of(laboratory):
    found = laboratory.lakehouse.query(
        "select code, count(*) as n from gold_storage.things_problems group by code"
    )
    rows = [validated(row)[0] for row in laboratory.source.rows.values()]
    codes = [code for row in rows for code in row[-1]]
    assert {row["code"]: row["n"] for row in found} == {code: codes.count(code) for code in codes}
    said = laboratory.lakehouse.dbt("test", "-s", "things")
    broken = len([code for code in codes if code not in ("invalid", "out_of_range")])
    assert said["rules_are_kept_things_"].startswith(f"Got {broken} result")
    assert said["rows_are_shown_or_held_things_"] == "pass"
    # Rows that are shown with a value that does not fit; no rule is one.
    unfit = [row for row in rows if {"invalid", "out_of_range"} & {*row[-1]}]
    assert said["values_fit_their_types_things_"].startswith(f"Got {len(unfit)} result")


def test_a_row_is_back_once_a_change_mends_it(laboratory):
    row = {"id": "20", "name": "a", "price": "100.00", "quantity": "9"}
    laboratory.deliver(change("INSERT", 1000, row) | {"mysqlType": TYPES}, models=["things"])
    assert 20 not in [row[0] for row in laboratory.rows("id")]
    [held] = laboratory.lakehouse.query("select * from gold_storage.things_held where id = 20")
    [problem] = held["_problems"]
    assert problem["column"] is None
    assert json.loads(problem["text"]) == {"id": 20, "total": 900.0}
    assert laboratory.lakehouse.query("select * from gold_plain.things where id = 20") == []
    # It carries a part of what the total is made of.
    part = {"id": "20", "quantity": "2"}
    mended = change("UPDATE", 1004, part, old=[{"quantity": "9"}])
    laboratory.deliver(mended)
    columns = "id, cast(price as string), cast(total as string) as total"
    assert laboratory.rows(columns)[-1] == (20, "100.00", "200.00")
    [plain] = laboratory.lakehouse.query("select * from gold_plain.things where id = 20")
    assert plain["total"] == 200


def test_another_rule_builds_no_table_again(laboratory):
    before = laboratory.history("things")[0]["version"], laboratory.stored("things_history")
    changes = "select _change_type from table_changes('gold_plain.things_history', 1)"
    was = laboratory.lakehouse.query(changes)
    held = laboratory.lakehouse.query("select id from gold_storage.things_history_held")
    write_project(laboratory.lakehouse.project, KEPT)
    laboratory.lakehouse.dbt("run", "-s", "things", "things_history")
    after = laboratory.history("things")[0]["version"], laboratory.stored("things_history")
    assert after == before
    # What was held is in the view, in the plain table, and an insert of the change feed.
    now = laboratory.lakehouse.query(changes)
    assert now[len(was) :] == [{"_change_type": "insert"}] * len(held)
    for name in ("things", "things_history"):
        same = f"(select * from gold.{name}) except all (select * from gold_plain.{name})"
        assert laboratory.lakehouse.query(same) == []
        assert laboratory.lakehouse.query(f"select * from gold_storage.{name}_held") == []
    # Nothing is left to do.
    laboratory.lakehouse.dbt("run", "-s", "things", "things_history")
    assert laboratory.lakehouse.query(changes) == now


REFUSED = {
    "quantity": "is of the type int; a rule is a condition",
    "rand() < total": "gives another value each time",
    "current_date() > date'2020-01-01'": "has the time, user or database of the reader",
    "quantity + 1 > 0": "can be too large for int; write try_add(a, b) for it",
    "cast(total as int) > 0": "casts decimal(5,2) to int, which can be too small; write try_cast",
    "unknown_function(total)": "is refused by Spark",
    "explode(array(true))": "has a function that makes several rows",
}


def test_what_is_no_function_of_a_row_is_refused_when_it_is_compiled(laboratory):
    project = laboratory.lakehouse.project
    names = {f"wrong_{place}": expression for place, expression in enumerate(REFUSED)}
    write_models(project, dict.fromkeys(names, ""), COLUMNS, YAML)
    described = (
        YAML.format(name=name).replace("expression: total <= 500", f'expression: "{expression}"')
        for name, expression in names.items()
    )
    (project / "models" / "gold" / "lab" / "_lab.yml").write_text("models:" + "".join(described))
    # dbt ends with the first model that it cannot compile.
    for name, expression in names.items():
        [error] = laboratory.lakehouse.dbt("compile", "-s", name, fails=True)
        assert REFUSED[expression] in error
        assert f"{name}: rule is_not_dear: `{expression}`" in error
