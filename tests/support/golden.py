"""The statements of gold as they run, of six shapes of models: `tests/sql` holds them.

A change of a rule shows there as a change of SQL. `python tests/support/golden.py` writes the files
again; read what has changed before it is committed.
"""

import sys
from dataclasses import fields, replace
from pathlib import Path

from pyspark.sql import Row

TESTS = Path(__file__).parents[1]
FOLDER = TESTS / "sql"
if __name__ == "__main__":
    sys.path[:0] = [str(TESTS / "gold"), str(TESTS), str(TESTS / "support")]

from test_gold_table import node, table  # noqa: E402

from cdc_lakehouse.delta.past import Mark  # noqa: E402
from cdc_lakehouse.engine.columns import gold_columns  # noqa: E402
from cdc_lakehouse.engine.former_names import columns_of_images  # noqa: E402
from cdc_lakehouse.engine.gold_run import GoldRun  # noqa: E402
from cdc_lakehouse.engine.gold_table import GoldTable  # noqa: E402
from cdc_lakehouse.engine.latest_changes import TableChanges  # noqa: E402
from cdc_lakehouse.engine.plain_table import KIND as PLAIN_TABLE  # noqa: E402
from cdc_lakehouse.engine.rebuilds import KIND  # noqa: E402
from cdc_lakehouse.engine.rules import read_rules  # noqa: E402
from cdc_lakehouse.engine.source_tables import SourceTable, rows_of_tables  # noqa: E402
from cdc_lakehouse.engine.steps import (  # noqa: E402
    Ask,
    CheckContract,
    Commit,
    Execute,
    Expect,
    Finish,
    IsKnown,
    LookAt,
    Name,
    Say,
    Stage,
    TableState,
    follow,
)
from cdc_lakehouse.sql import indented  # noqa: E402

ORDERS = SourceTable("shop", None, "orders")
COLUMNS = [
    {"name": "id", "data_type": "bigint"},
    {"name": "status", "data_type": "string"},
    {"name": "total", "data_type": "decimal(10,2)"},
]
MODEL = f"""select
    sequence as _sequence,
    image as _image,
    try_cast(image['id'] as bigint) as id,
    image['status'] as status,
    try_cast(image['total'] as decimal(10, 2)) as total
from (select * from silver.row_images where {rows_of_tables(["shop.orders"])}) as row_images"""
# What the columns of the orders were called before: the key, and a column that had two other names.
FORMERLY = {"id": ["nr"], "status": ["state", "phase"]}
# The properties of a copy for other readers.
COPY = {KIND: PLAIN_TABLE}
# What the queries of a run that merges three updates of the orders 7 to 9 are answered.
SUMMARY = {
    **{"changes": 3, "partial_changes": 0, "replaced_rows": 0, "begun_rows": 0, "truncates": 0},
    **{"first_0": "7", "last_0": "9", "is_short_0": True, "keys": '["7", "8", "9"]'},
}


def orders(kind="current_state", read=5, plain_table=False, **options):
    """The plan of a run of gold.things, which reads the orders after commit 5 of bronze up to 7."""
    properties = {"cdc_lakehouse.kind": kind, "cdc_lakehouse.partial_rows": "none"}
    properties |= {"cdc_lakehouse.partial_moves": "none"}
    changes = [TableChanges(ORDERS, 3, 3, 0, 0)]
    columns = tuple(gold_columns(node(kind, columns=COLUMNS)))
    own = {field.name for field in fields(GoldTable)}
    model = {"columns": columns, "sql": MODEL} | {n: v for n, v in options.items() if n not in own}
    plan = table(read, properties=properties, kind=kind, changes=changes, **model)
    copied = replace(plan.model.options, plain_table=plain_table)
    plan = replace(plan, model=replace(plan.model, options=copied))
    return replace(plan, **{n: v for n, v in options.items() if n in own})


def with_rules(plan):
    """The same with a rule of each kind and a derived column, its views yet to be made."""
    derived = {"name": "tax", "data_type": "decimal(10,2)", "meta": {"derived": "total * 0.2"}}
    yaml = node("current_state", columns=[*COLUMNS, derived])
    yaml["constraints"] += [
        {"type": "check", "name": "paid", "expression": "total > 0", "columns": ["total"]},
        {"type": "check", "name": "known", "expression": "status <> '?'"},
    ]
    rules = read_rules(yaml, ["id"], {"paid": "null", "known": "hold"})
    return replace(plan, model=replace(plan.model, row_rules=rules), needs_views=True)


def renamed():
    """The plan of a run of the orders whose columns had other names before."""
    described = [c | {"meta": {"formerly": FORMERLY.get(c["name"], [])}} for c in COLUMNS]
    columns = tuple(gold_columns(node("current_state", columns=described)))
    images = f"select {columns_of_images(columns)} from silver.row_images"
    return orders(columns=columns, sql=MODEL.replace("select * from silver.row_images", images))


def steps_of(plan, shown=None, copy=COPY, **summary):
    """Return the steps of a run whose questions are answered with a summary of its changes.

    Args:
        shown: the commit that the copy for other readers shows; None if there is no copy.
        copy: the properties of the copy.
    """
    steps = []

    def do(step):
        steps.append(step)
        match step:
            case Ask():
                return answer(step.sql)
            case IsKnown():
                return False
            case LookAt(table) if table == plan.storage:
                return TableState("a-table", {}, Mark(7, 7))
            case LookAt() if shown is not None:
                return TableState("a-copy", copy, Mark(shown, shown))
        return None

    def answer(query):
        if "as truncates" in query:
            return [Row(**(SUMMARY | summary))]
        # Of a table that is built: how many images are partial, and how many rows are replaced.
        return [(0, 0)] if query.startswith("select count_if(") else []

    follow(GoldRun(plan).steps(), do)
    return steps


def text_of(steps):
    """Return the statements of steps, each below what is done with it."""
    return "\n".join(filter(None, map(_text, steps)))


def _text(step):
    match step:
        case Name() | Stage():
            return _block(
                f"{'names' if isinstance(step, Name) else 'stages'} {step.view}", step.sql
            )
        case Ask() | Execute():
            return _block("asks" if isinstance(step, Ask) else "runs", step.sql)
        case Commit():
            noted = f"commits, with {step.source} read to {step.version}"
            return _block(noted, step.sql)
        case Say() | Expect() | IsKnown() | LookAt() | Finish() | CheckContract():
            return ""
    raise AssertionError(step)


def _block(what, statement):
    return f"-- {what}\n{indented(statement)};\n"


def shapes():
    """Return the text of each file, by its name."""
    copied = steps_of(orders(plain_table=True), shown=5)
    (begin,) = (n for n, step in enumerate(copied) if isinstance(step, Commit))
    shards = steps_of(
        orders(sql=MODEL.replace("table_name = 'orders'", "table_name like 'orders%'"))
    )
    asked = [step for step in shards if isinstance(step, Ask) and "_tables" in step.sql]
    return {
        "plain.sql": text_of(steps_of(orders())),
        "partial.sql": text_of(steps_of(orders(), partial_changes=1)),
        "history.sql": text_of(steps_of(orders("history"))),
        "renamed.sql": text_of(steps_of(renamed(), partial_changes=1)),
        "rules.sql": text_of(steps_of(with_rules(orders()))),
        "plain_copy.sql": text_of(copied[begin + 1 :]),
        "shared_keys.sql": text_of(asked),
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in shapes().items():
        (FOLDER / name).write_text(text)
        print(f"{FOLDER / name}: {len(text):,} characters")
