"""The statements of the engine, rendered of a plan, as a linter sees them."""

import re
from dataclasses import replace

import pytest
from conftest import PROJECT
from jinja2 import UndefinedError
from rendered import look_at
from test_follows import mart, readings
from test_gold_table import model, node, table

from cdc_lakehouse.delta.statistics import Extent
from cdc_lakehouse.engine.change_feed import FeedReading, FeedRows
from cdc_lakehouse.engine.changes import Changes
from cdc_lakehouse.engine.columns import gold_columns
from cdc_lakehouse.engine.new_messages import NewMessages
from cdc_lakehouse.engine.rendering import FOLDER, sql
from cdc_lakehouse.engine.rules import read_rules
from cdc_lakehouse.protection import Line, Protection

ROWS = "select * from given"
MERGED = Changes(3, keys="stored.`id` between 1 and 2")
PARTIAL = Changes(3, 1, 1, True, MERGED.keys, is_partial=True, follows_keys=True)
PAIRS = replace(MERGED, has_pairs=True)
NEW = NewMessages(
    (Extent(("t", 0, 0), ("t", 0, 9)), Extent(("t", 0, 3), ("t", 0, 4))), True, True, True
)
# Methods of other things that are named sql: a session, a column.
NOT_OURS = {"encode", "replace", "split", "splitlines", "startswith", "strip"}
# The alias of a table in an anti join is used.
TAKEN = {"AL05"}
# What sqlfluff cannot parse though Spark can: two names, and a function of SQL.
UNREAD = {
    "<column: string": "<name: string",
    " as keys ": " as some_keys ",
    "create or replace function": None,
}


def plan(kind, read=5, **options):
    return table(read, properties={"cdc_lakehouse.kind": kind}, kind=kind, **options)


CURRENT, HISTORY = plan("current_state"), plan("history")
OTHER = plan(
    "current_state",
    on_truncate="ignore",
    on_drop="apply",
    on_delete="flag",
    tombstone_retention="9 days",
)
NARROW = plan("history", track_columns=["name"])
VALUES = [
    {"name": "id", "data_type": "bigint"},
    {"name": "price", "data_type": "int", "constraints": [{"type": "not_null"}]},
    {"name": "total", "data_type": "int", "meta": {"derived": "try_multiply(price, 2)"}},
]
CHECKS = [
    {"type": "check", "name": "low", "expression": "total < 9", "columns": ["total"]},
    {"type": "check", "name": "high", "expression": "price > 0", "columns": ["price"]},
    {"type": "check", "name": "known", "expression": "price <> 7"},
]


def validated(kind, **options):
    """The plan of a model with rules of each kind and with a derived column."""
    yaml = node(kind, columns=VALUES)
    yaml["constraints"] += CHECKS
    policies = {"low": "null", "high": "null", "known": "hold"}
    of = plan(kind, columns=gold_columns(yaml), **options)
    return replace(of, model=replace(of.model, row_rules=read_rules(yaml, ["id"], policies)))


VALIDATED = (
    validated("current_state"),
    validated("current_state", on_delete="flag"),
    validated("history"),
)


def of_gold():
    """The statements of runs of gold: what renders each, and of which plan."""
    yield "versions_of_rows", (ROWS, NARROW, MERGED)
    for each in VALIDATED:
        for view in each.views:
            yield view.statement, (each,)
    for each in (CURRENT, HISTORY, OTHER):
        for view in (*each.views, *each.functions):
            yield view.statement, (each,)
        yield "new_changes", (each,)
        yield "shared_keys", (ROWS, each, MERGED)
        yield "shared_keys", (ROWS, each.everything, MERGED)
        yield "new_typed_changes", (each, "_source_table in ('shop.orders')")
        changes = sql.typed_changes(ROWS, each.model)
        pairs = sql.with_keys_of_pairs(changes, each.model)
        yield "partial_changes", (changes, each.model)
        yield "with_collisions", (pairs, each.model)
        yield "collisions", (pairs, each, PARTIAL)
        yield "changes_of_followed_keys", (each.model,)
        yield "with_followed_changes", (ROWS, each.model)
        yield "rows_of_touched_keys", (each, MERGED)
        rows = FeedRows(each.model)
        for found in (None, MERGED):
            yield "rows_that_differ", (each, rows, found)
            yield "merge_rows_that_differ", (each, rows, found)
        for kind in ("snapshot", "nothing", "changes"):
            reading = FeedReading(rows, "gold_plain.things", "f1", kind, 3, 5)
            yield "rows_of_feed", (reading,)
        for found in (MERGED, PARTIAL, PAIRS):
            yield "merge_plain_rows", (each, found)
            if each.model.is_history:
                yield "changes_of_touched_keys", (ROWS, each, found)
                yield "versions_of_rows", (ROWS, each, found)
                yield "versions_of_rows", (ROWS, each.everything, found)
                yield "merge_versions", (each, found)
                yield "known_as_before", (ROWS, each)
            else:
                rows = sql.latest_rows(ROWS, each.model, found)
                yield "latest_rows", (ROWS, each.model, found)
                if each.model.options.retention:
                    yield "and_expired_tombstones", (rows, each, found)
                    yield "without_expired_tombstones", (rows, each.model)
                yield "merge_latest_rows", (each, found)


def of_silver():
    yield "new_messages", ("silver.events", NEW)
    yield "rows_processed_before", ("silver.events", NEW)
    yield "reprocess_messages", ("silver.events", ROWS)
    yield "source_tables_processed_before", ()


def of_marts():
    of = mart()
    for reading in readings("changes", "snapshot").values():
        yield "touched_values", (of.followed[0], reading)
    for changed in (of.followed, of.followed[:1], of.followed[1:]):
        yield "touched_keys", (of, changed, "given")
    yield "changes_of_mart", (of, "given")
    yield "merge_changes_of_mart", (of, ("sale_id", "note"))
    yield "replace_mart", (of, "given")
    yield "commit_only_mart", (of,)


def faults_of(text):
    """What a linter says of a statement."""
    for unread, instead in UNREAD.items():
        if instead is None and text.startswith(unread):
            text = text[re.search(r"\b(select|with)\b", text).start() :]
        text = text.replace(unread, instead or unread)
    faults, _ = look_at(re.sub(r"[ \t]+\n", "\n", text.strip()) + "\n")
    return [fault for fault in faults if fault.split()[0] not in TAKEN]


def rendered():
    """Each statement once, with what renders it."""
    for what, arguments in [*of_gold(), *of_silver(), *of_marts()]:
        name, render = (what, getattr(sql, what)) if isinstance(what, str) else ("view", what)
        yield render(*arguments), name


CASES = dict(rendered())


NAMES = [f"{number}-{name}" for number, name in enumerate(CASES.values())]


@pytest.mark.parametrize("text", CASES, ids=NAMES)
def test_a_statement_is_sql_that_a_linter_accepts(text):
    assert faults_of(text) == []


def test_a_column_of_each_type_renders_sql_that_a_linter_accepts():
    types = ["decimal", "decimal(9,2)", "date", "timestamp", "map<string,string>", "binary", "int"]
    columns = [{"name": f"c{n}", "data_type": kind} for n, kind in enumerate(types)]
    columns += [
        {**column, "name": f"i_{n}", "meta": {"inferred": True}}
        for n, column in enumerate(columns[:3])
    ]
    wide = model(columns=[*gold_columns(node(columns=columns))], key=("c6",))
    assert faults_of(sql.typed_changes(ROWS, wide)) == []


def test_columns_are_protected_by_sql_that_a_linter_accepts():
    """Without a line of the layer, or with all of them done, nothing is done to the rows."""
    nothing = Protection((), "0123456789abcdef")
    assert sql.protected_rows("given", "silver", nothing) == "select * from given"
    lines = (Line(2, "o'brien", "", "a{b}*", "e.mail", "hash", "silver"),)
    protection = Protection(lines, "0123456789abcdef")
    protected = sql.protected_rows("given", "silver", protection)
    assert faults_of(protected) == []
    assert "o\\'brien" in protected
    assert sql.protected_rows("given", "gold", protection) == "select * from given"
    assert sql.protected_rows("given", "silver", protection, 1) == "select * from given"


def test_a_fault_is_found():
    merge = sql.merge_latest_rows(CURRENT, PARTIAL)
    assert "PRS" in faults_of(merge.replace("using ", "usng "))[0]


def test_a_name_that_nobody_gives_fails():
    with pytest.raises(UndefinedError, match="'None' has no attribute 'model'"):
        sql.new_typed_changes(None, "")


def test_the_rows_as_of_two_times_are_those_of_a_function():
    now, then = "current_timestamp()", "timestamp '2026-11-01'"
    one = sql.rows_as_of("gold.things", then)
    two = sql.rows_as_of("gold.things", then, f"gold.things_as_known({then}, {now})")
    start = "( select * from gold.things where (valid_from is null or valid_from <= "
    assert " ".join(one.split()).startswith(start)
    assert " ".join(two.split()) == f"( select * from gold.things_as_known({then}, {now}) )"


def test_every_statement_is_rendered_by_some_run():
    texts = [path.read_text() for path in FOLDER.glob("*.sql")]
    written = {name for text in texts for name in re.findall(r"\{% macro (\w+)\(", text)}
    used = {name for text in texts for name in re.findall(r"(?<!macro )\b(\w+)\(", text)}
    python = "".join(path.read_text() for path in (PROJECT / "src").rglob("*.py"))
    asked = set(re.findall(r"\bsql\.(\w+)", python))
    assert written - used - asked == set()
    assert {name for name in re.findall(r"\bsql\.(\w+)\(", python)} - written <= NOT_OURS
