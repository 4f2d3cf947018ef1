"""What `lakehouse sync` makes of changes of the source: which texts it writes, what it reports."""

import random
import re

import pytest
from conftest import PROJECT

from cdc_lakehouse.engine.row_images import texts_of_stars
from cdc_lakehouse.engine.source_tables import SourceTable as Names
from cdc_lakehouse.engine.source_tables import rows_of_tables, tables_read
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.gold.add_table import Gold
from cdc_lakehouse.gold.column_types import SeenType, column_types, wider_type
from cdc_lakehouse.gold.policies import Policies, TablePolicy, read_policies
from cdc_lakehouse.gold.project_files import ProjectFiles
from cdc_lakehouse.gold.source_changes import Seen, Statement, changes_of
from cdc_lakehouse.gold.source_tables import SourceTable
from cdc_lakehouse.gold.sync import sync

SQL = """select
    {{ change_columns() }},
    try_cast(image['id'] as bigint) as id,
    image['order_no'] as order_no,
    try_cast(image['qty'] as int) as qty,
    image['note'] as note
from {{ row_images('shop.orders') }}
"""
YAML = """models:
  - name: orders
    description: Orders. One row per order.
    constraints: [{type: primary_key, columns: [id]}]
    data_tests: [changes_have_a_key, source_columns_are_read]
    columns:
      - {name: id, data_type: bigint, description: "Number."}
      - {name: order_no, data_type: string, description: "What the customer quotes."}
      - {name: qty, data_type: int, description: "Column `qty`, int in the source. Pieces."}
      - {name: note, data_type: string, description: "Free text."}
      - {name: _sequence, data_type: string, description: "Place."}
  - name: other
    description: Something else.
"""
APPLY = TablePolicy("shop.orders", add="apply", widen="apply", rename="apply", drop="keep")
TYPES = {"id": "bigint", "order_no": "varchar(20)", "qty": "int", "note": "text"}


def table(types=TYPES, retyped=(), name="orders", columns=None):
    """The table in messages of Canal; `retyped` are further types of its columns."""
    worded = [*types.items(), *retyped]
    seen = tuple(SeenType("canal", column, word) for column, word in worded)
    names = tuple(columns or types)
    return SourceTable("shop", None, name, names, column_types(seen, False), ("id",), worded=seen)


def rename(*pairs, dropped=(), added=(), offset=7, **named):
    """A statement that renames columns, drops some and adds some."""
    altered = (*(name for pair in pairs for name in pair), *dropped, *added)
    named = {"database": "shop", "schema": None, "table": "orders", "format": "canal"} | named
    removed = (*(old for old, _ in pairs), *dropped)
    place = f"shop/0, offset {offset}"
    return Statement(place=place, renames=pairs, altered=altered, removed=removed, **named)


def gone(column, since="5"):
    return Seen("canal", column, "1", since)


@pytest.fixture
def project(tmp_path):
    """A project with one model, and what `sync` does to it."""
    folder = tmp_path / "models" / "gold" / "shop"
    folder.mkdir(parents=True)
    sql, yaml = folder / "orders.sql", folder / "_shop.yml"
    sql.write_text(SQL)
    yaml.write_text(YAML)

    def run(source, seen=(), statements=(), policy=APPLY, is_dry=False):
        files = ProjectFiles(tmp_path, is_dry)
        policies = Policies((policy,) if policy else ())
        found = sync(Gold(tmp_path, files), policies, [changes_of(source, seen, statements)])
        return files, found

    run.sql, run.yaml, run.root = sql, yaml, tmp_path
    return run


EVERYTHING = table(
    {"id": "bigint", "order_number": "varchar(20)", "qty": "int", "note": "text", "rank": "int"},
    [("qty", "bigint"), ("order_no", "varchar(20)")],
    columns=("id", "order_number", "qty", "rank", "order_no", "note"),
)
ALL_SEEN = (gone("order_no"), gone("note", "6"))
ALL_STATEMENTS = (rename(("order_no", "order_number")),)
DIFF = """\
--- a/models/gold/shop/_shop.yml
+++ b/models/gold/shop/_shop.yml
@@ -5,9 +5,10 @@
     data_tests: [changes_have_a_key, source_columns_are_read]
     columns:
       - {name: id, data_type: bigint, description: "Number."}
-      - {name: order_no, data_type: string, description: "What the customer quotes."}
-      - {name: qty, data_type: int, description: "Column `qty`, int in the source. Pieces."}
+      - {name: order_no, data_type: string, meta: {source: "order_number", formerly: [order_no]}, \
description: "What the customer quotes."}
+      - {name: qty, data_type: bigint, description: "Column `qty`, bigint or int in the source. \
Pieces."}
       - {name: note, data_type: string, description: "Free text."}
+      - {name: rank, data_type: int, description: "Column `rank`, int in the source."}
       - {name: _sequence, data_type: string, description: "Place."}
   - name: other
     description: Something else.
--- a/models/gold/shop/orders.sql
+++ b/models/gold/shop/orders.sql
@@ -1,7 +1,8 @@
 select
     {{ change_columns() }},
     try_cast(image['id'] as bigint) as id,
-    image['order_no'] as order_no,
-    try_cast(image['qty'] as int) as qty,
-    image['note'] as note
+    image['order_number'] as order_no,
+    try_cast(image['qty'] as bigint) as qty,
+    image['note'] as note,
+    try_cast(image['rank'] as int) as rank
 from {{ row_images('shop.orders') }}
"""
NAMED = [
    "shop.orders  order_number  is order_no under another name, by the statement at shop/0, "
    "offset 7  models/gold/shop/orders.sql: write `image['order_number'] as order_no`, in its YAML "
    'data_type string, meta: {source: "order_number", formerly: [order_no]}.',
    "shop.orders  rank  is new  models/gold/shop/orders.sql: write "
    "`try_cast(image['rank'] as int) as rank`, in its YAML data_type int.",
    "shop.orders  qty  is bigint or int, which int does not hold  models/gold/shop/orders.sql: "
    "write `try_cast(image['qty'] as bigint) as qty`, in its YAML data_type bigint.",
    "shop.orders  note  is gone  models/gold/shop/orders.sql keeps its last values in note: say "
    "drop=keep in seeds/gold_tables.csv, or take it out of both files.",
]


def test_a_table_that_has_not_changed_needs_nothing(project):
    files, found = project(table(), policy=None)
    assert (files.changed, files.diff(), found) == ([], "", [])


def test_policies_that_apply_write_the_change_into_both_files(project):
    files, found = project(EVERYTHING, ALL_SEEN, ALL_STATEMENTS)
    assert files.diff() == DIFF
    assert [(f.kind, f.column, f.to_do) for f in found] == [
        ("rename", "order_number", None),
        ("add", "rank", None),
        ("widen", "qty", None),
    ]
    assert "as rank\n" in project.sql.read_text()
    assert "meta: {source" in project.yaml.read_text()
    assert project(EVERYTHING, ALL_SEEN, ALL_STATEMENTS)[1] == []  # a second run has nothing to do


def test_a_dry_run_shows_the_same_and_writes_nothing(project):
    files, _ = project(EVERYTHING, ALL_SEEN, ALL_STATEMENTS, is_dry=True)
    assert files.diff() == DIFF
    assert (project.sql.read_text(), project.yaml.read_text()) == (SQL, YAML)


def test_without_a_policy_each_change_is_named_with_what_to_write(project):
    files, found = project(EVERYTHING, ALL_SEEN, ALL_STATEMENTS, policy=None)
    assert files.changed == []
    assert list(map(str, found)) == NAMED
    assert not any(finding.is_wanted for finding in found)


def test_a_history_follows_with_the_table(project):
    history = project.sql.with_name("orders_history.sql")
    history.write_text("{{ config(materialized='history') }}\n\n" + SQL)
    entry, _, rest = YAML.partition("  - name: other")
    own = entry.partition("models:\n")[2].replace("name: orders", "name: orders_history")
    own = own.replace("    data_tests: [changes_have_a_key, source_columns_are_read]\n", "")
    dated = "      - {name: valid_from, data_type: timestamp}\n      - {name: _sequence"
    project.yaml.write_text(
        entry + own.replace("      - {name: _sequence", dated) + "  - name: other" + rest
    )
    source = table(TYPES | {"valid_from": "date"})
    project(source)
    assert "    try_cast(image['valid_from'] as date) as valid_from\n" in project.sql.read_text()
    new = "    try_cast(image['valid_from'] as date) as valid_from_2\nfrom"
    assert f"    image['note'] as note,\n{new}" in history.read_text()
    line = (
        '      - {name: valid_from_2, data_type: date, meta: {source: "valid_from"},'
        ' description: "Column `valid_from`, date in the source."}\n'
        "      - {name: valid_from, data_type: timestamp}\n"
    )
    assert line in project.yaml.read_text()
    assert project(source)[1] == []


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("image['order_no'] as", "coalesce(image['order_no'], image['no']) as", None),
        ("image['order_no'] as", "upper(image['order_no']) as", "rename"),
        ("try_cast(image['qty'] as int)", "try_cast(image['qty'] as decimal(5))", "widen"),
        ("image['note'] as note", "trim(image['note']) as note", "add"),
        ("as note\nfrom", "as note\n\nfrom", "add"),
        ("from {{ row_images('shop.orders') }}", "from {{ ref('row_images') }}", "all"),
    ],
)
def test_what_a_person_wrote_is_reported_and_not_touched(project, old, new, kind):
    text = SQL.replace(old, new)
    assert text != SQL
    project.sql.write_text(text)
    _, found = project(EVERYTHING, ALL_SEEN, ALL_STATEMENTS)
    by_kind = {finding.kind: finding for finding in found}
    if kind == "all":  # nothing says which tables it reads
        assert list(map(str, found)) == ["shop.orders  has no model"]
        assert project.sql.read_text() == text
        return
    left = {name for name, finding in by_kind.items() if finding.to_do}
    assert left == {kind or "rename"}
    assert by_kind[kind or "rename"].is_wanted
    assert new in project.sql.read_text()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('- {name: qty, data_type: int, description: "', '- {name: qty, description: "'),
        ("- {name: qty, data_type: int,", "- &qty\n        name: qty\n        data_type: int #"),
        ("- {name: qty, data_type: int,", "- {data_type: int, name: qty,"),
    ],
)
def test_yaml_in_another_shape_is_reported_and_not_touched(project, old, new):
    text = YAML.replace(old, new)
    if "&qty" in new:
        text = text.replace(' description: "Column `qty`, int in the source. Pieces."}', "")
    project.yaml.write_text(text)
    _, found = project(table(retyped=[("qty", "bigint")]))
    assert project.yaml.read_text() == text
    assert project.sql.read_text() == SQL
    if "data_type" in new:
        [finding] = found
        assert finding.kind == "widen" and finding.is_wanted and finding.to_do


def test_an_exception_of_the_test_of_columns_counts_here_too(project):
    names = "rank, qty, note, order_no, order_number"
    excepted = f"{{source_columns_are_read: {{arguments: {{except: [{names}]}}}}}}"
    project.yaml.write_text(YAML.replace("source_columns_are_read", excepted))
    assert project(EVERYTHING, ALL_SEEN, ALL_STATEMENTS, policy=None)[1] == []


def test_a_new_column_takes_a_name_that_is_free(project):
    source = table(TYPES | {"Qty": "date", "order by": "int"})
    project(source)
    assert "    try_cast(image['Qty'] as date) as qty_2,\n" in project.sql.read_text()
    assert "    try_cast(image['order by'] as int) as order_by\nfrom" in project.sql.read_text()
    line = (
        '      - {name: qty_2, data_type: date, meta: {source: "Qty"},'
        ' description: "Column `Qty`, date in the source."}\n'
    )
    assert line in project.yaml.read_text()


def test_a_column_that_replaces_another_without_a_statement_is_never_guessed(project):
    source = table(TYPES | {"order_number": "varchar(20)"})
    seen = (gone("order_no"), Seen("canal", "order_number", "5"))
    files, found = project(source, seen)
    assert files.changed == []
    assert list(map(str, found)) == [
        "shop.orders  order_number  is new in the change in which order_no was gone; no statement "
        "says why  models/gold/shop/orders.sql: write `image['order_number'] as order_number`, in "
        "its YAML data_type string. Or, if it is order_no renamed: models/gold/shop/orders.sql: "
        "write `image['order_number'] as order_no`, in its YAML data_type string, "
        'meta: {source: "order_number", formerly: [order_no]}.'
    ]
    added = (rename(dropped=["order_no"], added=["order_number"]),)
    assert [f.to_do for f in project(source, seen, added)[1]] == [None]


def test_a_name_that_is_there_again_is_never_guessed(project):
    source = table(TYPES | {"order_number": "varchar(20)"})
    again = (rename(("order_no", "order_number")), rename(added=["order_no"]))
    files, [finding] = project(source, (), again)
    assert files.changed == []
    assert str(finding) == (
        "shop.orders  order_number  is order_no under another name, by the statement at shop/0, "
        "offset 7, and rows had order_no beside it  models/gold/shop/orders.sql: decide which "
        "column reads which name; sync cannot tell."
    )
    # ... nor after the first rename was followed.
    project(source, (gone("order_no"),), again[:1])
    files, [finding] = project(source, (), again)
    assert files.changed == [] and finding.kind == "rename" and finding.is_wanted


def test_a_chain_of_renames_lists_all_names_the_newest_first(project):
    source = table(TYPES | {"b": "varchar(20)", "c": "varchar(20)"})
    chain = (rename(("order_no", "b")), rename(("b", "c"), offset=9))
    project(source, (gone("order_no"), gone("b")), chain)
    assert "    image['c'] as order_no,\n" in project.sql.read_text()
    assert 'meta: {source: "c", formerly: [b, order_no]}' in project.yaml.read_text()
    # The next rename goes on from there.
    source = table(TYPES | {"b": "text", "c": "text", "d": "text"})
    chain = (*chain, rename(("c", "d"), offset=11))
    project(source, tuple(map(gone, ("order_no", "b", "c"))), chain)
    assert "    image['d'] as order_no,\n" in project.sql.read_text()
    assert 'meta: {source: "d", formerly: [c, b, order_no]}' in project.yaml.read_text()


def test_a_rename_back_joins_the_name_between(project):
    source = table(TYPES | {"b": "varchar(20)"})
    back = (rename(("order_no", "b")), rename(("b", "order_no"), offset=9))
    project(source, (gone("b"),), back)
    assert project.sql.read_text() == SQL
    assert "order_no, data_type: string, meta: {formerly: [b]}" in project.yaml.read_text()
    assert project(source, (gone("b"),), back)[1] == []


def test_a_rename_with_another_type_is_both(project):
    source = table(TYPES | {"pieces": "bigint"})
    project(source, (gone("qty"),), (rename(("qty", "pieces")),))
    assert "    try_cast(image['pieces'] as bigint) as qty,\n" in project.sql.read_text()
    line = (
        '{name: qty, data_type: bigint, meta: {source: "pieces", formerly: [qty]},'
        ' description: "Column `pieces`, bigint in the source. Pieces."}'
    )
    assert line in project.yaml.read_text()


def test_a_rename_whose_name_no_row_has_brought_yet_waits(project):
    pending = (rename(("note", "remark")),)
    assert project(table(), (gone("note"),), pending, policy=None)[1] == []


def test_a_column_that_is_added_and_renamed_between_two_runs_is_one(project):
    source = table(TYPES | {"x": "int", "y": "int"})
    statements = (rename(added=["x"]), rename(("x", "y"), offset=9))
    project(source, (gone("x"),), statements)
    assert "    try_cast(image['y'] as int) as y\nfrom" in project.sql.read_text()
    assert "{name: y, data_type: int, meta: {formerly: [x]}, desc" in project.yaml.read_text()
    assert project(source, (gone("x"),), statements)[1] == []


NEW = table({"id": "int(11)", "nr": "int(11)"}, name="items_7")


def test_a_column_that_is_renamed_and_dropped_between_two_runs_keeps_its_last_values(project):
    columns = ("id", "order_number", "qty", "order_no", "note")
    source = table({"id": "bigint", "order_number": "varchar(20)", "qty": "int"}, columns=columns)
    statements = [rename(("order_no", "order_number")), rename(dropped=["order_number"])]
    seen = (gone("order_no"), gone("order_number", "6"))
    _, found = project(source, seen, statements)
    assert [(each.column, each.kind, each.to_do) for each in found if each.column != "note"] == [
        ("order_number", "rename", None)
    ]
    assert "    image['order_number'] as order_no," in project.sql.read_text()
    _, found = project(source, seen, statements)
    assert {each.column for each in found} <= {"note"}


def test_a_new_table_is_written_where_a_pattern_covers_it(project):
    policy = TablePolicy("shop.items_*", name="item{1}", key="id,nr", add="apply")
    files, [finding] = project(NEW, policy=policy)
    assert files.changed == ["models/gold/shop/_item7.yml", "models/gold/shop/item7.sql"]
    assert files.diff().endswith("""
--- /dev/null
+++ b/models/gold/shop/item7.sql
@@ -0,0 +1,5 @@
+select
+    {{ change_columns() }},
+    try_cast(image['id'] as int) as id,
+    try_cast(image['nr'] as int) as nr
+from {{ row_images('shop.items_7') }}
""")
    key = "constraints: [{type: primary_key, columns: [id, nr]}]"
    assert key in (project.root / "models/gold/shop/_item7.yml").read_text()
    assert finding.to_do is None and finding.column is None


def test_a_new_table_of_no_pattern_is_nobodys(project):
    assert project(NEW, policy=TablePolicy("shop.orders", add="apply"))[1] == []


def test_a_new_table_that_is_reported_comes_with_the_command(project):
    policy = TablePolicy("shop.items_*", "i_{1}", "id,nr", "history")
    files, [finding] = project(NEW, policy=policy)
    command = "lakehouse add-table shop.items_7 --key id,nr --as i_7 --history"
    assert str(finding) == f"shop.items_7  has no model  Type: {command}"
    assert files.changed == []


def test_a_new_table_that_cannot_be_added_is_named(project):
    policy = TablePolicy("shop.items_*", name="orders", add="apply")
    _, [finding] = project(NEW, policy=policy)
    assert finding.to_do.startswith("The name orders is taken, it is that of models/gold/shop/")
    assert finding.is_wanted
    _, [finding] = project(NEW, policy=TablePolicy("shop.items_*", key="no", add="apply"))
    assert finding.to_do.startswith("The key column no is not among the columns of shop.items_7")


def test_a_table_that_was_renamed_is_no_second_table(project):
    moved = Statement(
        *("shop", None, "orders", "canal", "shop/0, offset 9"),
        renamed_tables=(("orders", "items_7"),),
    )
    policy = TablePolicy("shop.*", add="apply")
    files, [finding] = project(NEW, (), (moved,), policy)
    assert files.changed == []
    assert str(finding) == (
        "shop.items_7  was called shop.orders, which models/gold/shop/orders.sql reads  "
        "Let it read both: row_images('shop.orders', 'shop.items_7')."
    )


def test_a_new_table_has_renamed_columns_once(project):
    source = table({"id": "int(11)", "b": "bigint(20)", "a": "int(11)"}, name="items_7")
    statements = (rename(("a", "b"), table="items_7"),)
    project(source, (gone("a"),), statements, TablePolicy("shop.*", add="apply"))
    text = (project.root / "models/gold/shop/items_7.sql").read_text()
    assert "    try_cast(image['b'] as bigint) as b\nfrom" in text and "image['a']" not in text
    described = "".join(path.read_text() for path in project.sql.parent.glob("*.yml"))
    assert "{name: b, data_type: bigint, meta: {formerly: [a]}, description" in described


def test_the_page_shows_what_is_named_and_written(tmp_path):
    page = (PROJECT / "docs" / "sync.md").read_text()
    blocks = re.findall(r"^```(?:text|diff)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    named, seed, diff = blocks
    types = {"id": "bigint", "part_no": "varchar(20)", "qty": "int", "note": "varchar(50)"}
    Gold(tmp_path).add(table(types, name="parts"))
    new = {"part_number": "varchar(20)", "qty": "int", "weight": "decimal(6,2)"}
    source = table(
        types | new,
        [("qty", "bigint")],
        name="parts",
        columns=("id", "part_number", "qty", "weight", "part_no", "note"),
    )
    told = Statement(
        *("shop", None, "parts", "canal", "shop.parts/0, offset 4"),
        renames=(("part_no", "part_number"),),
        altered=("part_no", "part_number"),
    )
    changes = changes_of(source, (gone("part_no"), gone("note", "6")), (told,))
    found = sync(Gold(tmp_path), Policies(), [changes])
    assert "".join(f"{finding}\n" for finding in found) == named
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds" / "gold_tables.csv").write_text(seed)
    files = ProjectFiles(tmp_path)
    found = sync(Gold(tmp_path, files), read_policies(tmp_path), [changes])
    assert files.diff() == diff
    assert [f"{finding}\n" for finding in found if finding.to_do] == [named.splitlines(True)[-1]]


@pytest.mark.parametrize(
    ("statements", "former"),
    [
        ([rename(("a", "b"))], {"b": ("a",)}),
        ([rename(("A", "B"))], {"b": ("a",)}),  # as Oracle and PostgreSQL let people spell
        ([rename(("a", "b")), rename(("b", "c"))], {"c": ("b", "a")}),
        ([rename(("a", "x")), rename(("x", "c"))], {"c": ("a",)}),  # no row brought x
        ([rename(("a", "b"), ("b", "a"))], {"a": ("b",), "b": ("a",)}),
        ([rename(("a", "b")), rename(dropped=["b"]), rename(added=["b"])], {}),
        ([rename(("a", "b")), rename(dropped=["b"]), rename(dropped=["b"])], {"b": ("a",)}),
        ([rename(("a", "b")), rename(dropped=["b"]), rename(("c", "b"))], {"b": ("c",)}),
        ([rename(("a", "x")), rename(dropped=["x"])], {}),  # no row brought x
        ([rename(("a", "b")), rename(("b", "x")), rename(dropped=["x"])], {"b": ("a",)}),
        ([rename(("a", "b")), rename(("b", "x"))], {"b": ("a",)}),
        ([rename(("a", "b")), rename(("b", "x")), rename(added=["b"])], {}),
        ([rename(("a", "b")), rename(("b", "x")), rename(("c", "b"))], {"b": ("c",)}),
        ([rename(("a", "b")), rename(added=["a"])], {"b": ("a",)}),
        ([rename(("a", "b")), rename(("a", "b"))], {"b": ("a",)}),  # delivered twice
        ([rename(("a", "b"), table="others")], {}),
        ([rename(("a", "b"), table=None, names=("alter", "orders", "a", "b"))], {"b": ("a",)}),
        ([rename(("a", "b"), database="crm")], {}),
    ],
)
def test_statements_tell_the_names_that_a_column_had(statements, former):
    source = table(dict.fromkeys("abc", "int"))
    assert changes_of(source, (), statements).former == former


def test_a_statement_without_a_schema_is_of_the_table_without_one():
    mysql, postgresql = Names("shop", None, "orders"), Names("shop", "public", "orders")
    statement = rename(("a", "b"), database="shop")
    assert statement.is_of(mysql) and statement.is_of(postgresql)
    assert statement.may_be_of(postgresql, {postgresql})
    assert not statement.may_be_of(postgresql, {postgresql, mysql})
    assert statement.may_be_of(mysql, {postgresql, mysql})


@pytest.mark.parametrize(
    ("own", "seen", "wider"),
    [
        ("int", {"int", "bigint"}, "bigint"),
        ("bigint", {"int", "bigint"}, None),
        ("decimal(10,2)", {"decimal(10, 2)", "decimal(12, 2)"}, "decimal(12, 2)"),
        ("decimal(10, 2)", {"decimal(10, 2)", "decimal(10, 4)"}, "decimal(12, 4)"),
        ("int", {"int", "string"}, "string"),
        ("string", {"int", "bigint"}, None),
        ("date", {"date", "timestamp_ntz"}, "timestamp_ntz"),
        ("double", {"decimal(10, 2)", "decimal(12, 2)"}, None),  # a person's own
        ("int", {"bigint", "decimal(20, 0)"}, "decimal(20, 0)"),  # narrowed by a person
    ],
)
def test_a_type_is_widened_to_what_holds_all(own, seen, wider):
    assert wider_type(own, seen) == wider


TABLES = [
    Names("shop", None, "orders"),
    Names("shop", None, "orders_07"),
    Names("shop", None, "orders.old"),
    Names(None, "shop", "orders_07"),
    Names("pg", "shop_2", "orders_07"),
    Names(None, None, "orders"),
    Names("shop", None, "odd[1]^\\x"),
]


@pytest.mark.parametrize(
    "pattern",
    [
        "shop.orders",
        "shop.orders_*",
        "shop*.*",
        "pg.shop_*.*_*",
        "orders",
        "*",
        "shop.`orders.old`",
        "shop.odd[1]^\\*",
        "shop.`odd[1]^\\x`",
    ],
)
def test_a_pattern_covers_what_it_covers_in_row_images(pattern):
    is_read = tables_read(f"select * from silver.row_images where {rows_of_tables([pattern])}")
    covered = [table for table in TABLES if texts_of_stars(pattern, table) is not None]
    assert covered == [table for table in TABLES if is_read(table)] != []


def test_the_stars_of_a_pattern_are_texts():
    assert texts_of_stars("pg.shop_*.*_*", TABLES[4]) == ("2", "orders", "07")
    assert texts_of_stars("shop.orders", TABLES[0]) == ()
    with pytest.raises(LakehouseError, match="no table has more than three names"):
        texts_of_stars("a.b.c.d", TABLES[0])


def test_the_most_specific_line_counts(tmp_path):
    (tmp_path / "seeds").mkdir()
    assert read_policies(tmp_path) == Policies()
    (tmp_path / "seeds/gold_tables.csv").write_text(
        "pattern,name,add,key\nshop.*,,apply,\nshop.orders_*,o{1},apply,\nshop.orders_1,,report,"
        '"a,`b,c`"\n'
    )
    policies = read_policies(tmp_path)
    assert policies.of(Names("shop", None, "x")).pattern == "shop.*"
    wide = policies.of(Names("shop", None, "orders_A-2"))
    assert wide.name_of(Names("shop", None, "orders_A-2")) == "oa_2"
    narrow = policies.of(Names("shop", None, "orders_1"))
    assert (narrow.add, narrow.key_columns, narrow.name_of(TABLES[0])) == (
        "report",
        ["a", "b,c"],
        None,
    )
    assert policies.of(Names("crm", None, "x")) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pattern,adds\n", "line 1: unknown column 'adds'. Did you mean add?"),
        ("name\n", "line 1: the header is name. Name `pattern`, and each column once."),
        ("pattern,add\nshop.*,yes\n", "line 2: add is 'yes'. Use one of report, apply."),
        ("pattern,drop\nshop.*,apply\n", "line 2: drop is 'apply'. Use one of report, keep."),
        ("pattern,name\nshop.*,a{2}\n", "line 2: the name has {2}, and the pattern 1 `*`."),
        ("pattern,name\nshop.*,a\nshop.*,b\n", "line 3: the pattern 'shop.*' is already above."),
        ("pattern,add\n,apply\n", "line 2: '' are no names with '.' between them."),
        ('pattern,key\nshop.*,"a,"\n', "line 2: 'a,' are no names with ',' between them."),
    ],
)
def test_a_wrong_line_is_refused_by_its_number(tmp_path, text, said):
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds/gold_tables.csv").write_text(text)
    with pytest.raises(LakehouseError) as raised:
        read_policies(tmp_path)
    assert f"gold_tables.csv, {said}" in str(raised.value)


def test_a_diff_says_where_a_file_does_not_end_with_a_line(tmp_path):
    path = tmp_path / "a.yml"
    path.write_text("one")
    files = ProjectFiles(tmp_path, is_dry=True)
    files.write(path, "one\n")
    assert files.diff() == (
        "--- a/a.yml\n+++ b/a.yml\n@@ -1 +1 @@\n-one\n\\ No newline at end of file\n+one\n"
    )
    assert path.read_text() == "one"


class RandomSource:
    """A table with random statements between its rows; every row has all of its columns."""

    def __init__(self, seed):
        self.random, self.place = random.Random(seed), 0
        self.columns = {"id": (0, 0), "a": (1, 0), "b": (2, 0)}  # name: number, and how wide
        self.numbers, self.rows, self.statements = 3, [], []
        self.seen, self.worded, self.gone = {}, {}, {}
        self.row()

    def row(self):
        self.place += 1
        self.rows.append({name: number for name, (number, _) in self.columns.items()})
        for name, (_, width) in self.columns.items():
            self.seen.setdefault(name, f"{self.place:03}")
            self.worded.setdefault(name, {})[("int", "bigint", "decimal(20,0)")[width]] = True
            self.gone.pop(name, None)

    def state(self):
        self.place += 1
        free = [name for name in "abcdefgh" if name not in self.columns]
        own = [name for name in self.columns if name != "id"]
        what = self.random.choice(("add", "rename", "rename", "widen", "drop"))
        if what == "add" and free:
            name = self.random.choice(free)
            self.columns[name] = (self.numbers, 0)
            self.numbers += 1
            self._tell(rename(added=[name], offset=self.place), name)
        elif what == "rename" and own and free:
            old, new = self.random.choice(own), self.random.choice(free)
            self.columns[new] = self.columns.pop(old)
            self._tell(rename((old, new), offset=self.place), new, old)
        elif what == "widen" and own:
            name = self.random.choice(own)
            number, width = self.columns[name]
            self.columns[name] = (number, min(width + 1, 2))
        elif what == "drop" and own:
            name = self.random.choice(own)
            del self.columns[name]
            self._tell(rename(dropped=[name], offset=self.place), None, name)

    def _tell(self, said, added, gone=None):
        self.statements.append(said)
        self.gone.pop(added, None)
        if gone in self.seen:
            self.gone[gone] = f"{self.place:03}"

    def facts(self):
        there = [name for name in self.columns if name in self.seen]
        names = (*there, *(name for name in self.seen if name not in there))
        types = {name: next(iter(self.worded[name])) for name in names}
        retyped = [(name, word) for name in names for word in list(self.worded[name])[1:]]
        seen = [Seen("canal", name, self.seen[name], self.gone.get(name)) for name in names]
        shapes = {frozenset(row) for row in self.rows}
        return table(types, retyped, columns=names), seen, self.statements, shapes


@pytest.mark.parametrize(
    "seed",
    [0, 30, 42, 43, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(100, 150))],
)
def test_random_histories_are_followed_or_named(tmp_path, seed):
    """Each column of the source has one column of gold under all of its names, or is reported.

    A value of a row is the number of its column. `sync` runs at random moments.
    """
    source = RandomSource(seed)
    (tmp_path / "models" / "gold").mkdir(parents=True)
    for _ in range(10):
        for _ in range(source.random.randint(0, 3)):
            source.state()
            if source.random.random() < 0.7:
                source.row()
        changes = changes_of(*source.facts())
        found = sync(Gold(tmp_path), Policies((APPLY,)), [changes])
        [model] = Gold(tmp_path).models.values()
        named = {finding.column for finding in found if finding.to_do}
        assert all(finding.kind == "rename" for finding in found if finding.to_do)
        read = {
            name: (model.columns[name][0], *(said.get("meta") or {}).get("formerly", ()))
            for name, said in model.definitions.items()
        }
        types = {name: said["data_type"] for name, said in model.definitions.items()}
        for name, (number, _) in source.columns.items():
            if name not in source.seen or name in named or name in changes.pending:
                continue
            [gold] = [each for each, names in read.items() if name in names]
            if named & set(read[gold]) or _is_named(changes, named, read[gold]):
                continue
            for row in source.rows:
                values = {row[each] for each in read[gold] if each in row}
                if number in row.values():
                    assert values == {number}, (name, read[gold], row)
            assert wider_type(types[gold], {_of(word) for word in source.worded[name]}) is None


def _of(word):
    return column_types([SeenType("canal", "x", word)], False)["x"][1]


def _is_named(changes, named, names):
    """Whether a finding is of a column that shares names with some."""
    return any(set(changes.former.get(each, ())) & set(names) for each in named)
