"""Columns that the source has renamed, or given a wider type, go on in one table of gold."""

import shutil

import pytest
from laboratory import Laboratory, change, shareplex, statement, truncate

pytestmark = pytest.mark.full

ORDER = "order_id, order_number, cast(price as string) as price"
BEFORE = {"id": "bigint", "order_no": "string", "price": "decimal(6, 2)"}
AFTER = {"order_id": "bigint", "order_number": "string", "price": "decimal(6, 2)"}
FORMERLY = {"order_id": "[id]", "order_number": "[nr, order_no]", "price": "[cost]"}
NARROW = {"id": "int", "pieces": "int", "cents": "decimal(4, 2)", "whole": "int"}
WIDE = {
    "id": "bigint",
    "pieces": "bigint",
    "cents": "decimal(8, 3)",
    "whole": "decimal(12, 0)",
}
COUNT = "id, pieces, cast(cents as string) as cents, whole"
TEST = "- source_columns_are_read: {config: {store_failures: true}}"
IN_PLACE = "type_widening=true, plain_table=true"
# Each with its table, its options and its columns before and after the change.
MODELS = {
    "things": ("lab.things", "", BEFORE, AFTER),
    "things_history": ("lab.things", "materialized='history'", BEFORE, AFTER),
    # SharePlex sends the owner of a table, which is its schema, too.
    "parts": ("lab.lab.parts", "", BEFORE, AFTER),
    "counts": ("lab.counts", IN_PLACE, NARROW, WIDE),
    # It has a value that does not fit.
    "sums": ("lab.counts", "type_widening=true", *({"id": t, "sum": t} for t in ("int", "bigint"))),
}


def write_models(project, is_after, sources=None):
    """Write all models; `sources` are the columns of the source where they are no namesakes."""
    folder = project / "models" / "gold" / "lab"
    folder.mkdir(exist_ok=True)
    described = "models:\n"
    for name, (table, options, *columns) in MODELS.items():
        columns = columns[is_after]
        listed, key = "", next(iter(columns))
        described += (
            f"  - name: {name}\n    constraints: [{{type: primary_key, columns: [{key}]}}]\n"
        )
        described += f"    data_tests:\n      {TEST}\n    columns:\n"
        for column, kind in columns.items():
            source = (sources or {}).get(column, column)
            listed += f",\n    try_cast(image['{source}'] as {kind}) as {column}"
            meta = f", meta: {{formerly: {FORMERLY[column]}}}" if column in FORMERLY else ""
            described += (
                f'      - {{name: {column}, data_type: "{kind}"{meta if is_after else ""}}}\n'
            )
        config = f"{{{{ config({options}) }}}}\n" if options else ""
        (folder / f"{name}.sql").write_text(
            f"{config}select\n    {{{{ change_columns() }}}}{listed}\n"
            f"from {{{{ row_images('{table}') }}}}\n"
        )
    (folder / "_lab.yml").write_text(described)


def write_project(project):
    """Replace the gold of the sample, which no test here is about."""
    for path in (project / "models" / "gold").iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    write_models(project, is_after=False)
    topics = project / "seeds" / "topics.csv"
    topics.write_text(topics.read_text() + "lab.*,dts_canal,,,,\nplex.*,dts_shareplex,,,,\n")


class Orders(Laboratory):
    """A lakehouse of tables before their columns are renamed, and have wider types."""

    def __init__(self, lakehouse, landing):
        self.lakehouse, self.landing, self.offset, self.models = lakehouse, landing, 0, MODELS
        lakehouse.dbt("seed")

    def now(self, model="things", columns=ORDER):
        order = "1, valid_from" if model.endswith("_history") else "1"
        rows = self.lakehouse.query(f"select {columns} from gold.{model} order by {order}")
        return [tuple(row.values()) for row in rows]

    def operations(self, model):
        """What Delta's commits of a stored table did, the first one first."""
        return [commit["operation"] for commit in reversed(self.history(model))]

    def unread(self):
        """The columns that the test of a model's columns names."""
        self.lakehouse.dbt("run", "-s", "+source_columns")
        self.lakehouse.dbt("test", "-s", "things,test_type:generic")
        failures = "dbt_test__audit.source_columns_are_read_things_"
        rows = self.lakehouse.query(f"select column_name from {failures} order by 1")
        return [row["column_name"] for row in rows]


def message(kind, position, row, old=None, table="things"):
    """A Canal message of a row; its first column is the key."""
    types = {name: "decimal(6,2)" if name in ("price", "cost") else "varchar(9)" for name in row}
    named = {"pkNames": [next(iter(row))], "mysqlType": types, "table": table}
    return change(kind, position, row, old=[old] if old else None) | named


def old(key, number=None, price=None):
    """A row, or a part of it, from before the columns were renamed."""
    given = {"id": str(key), "order_no": number, "price": price}
    return {name: text for name, text in given.items() if text is not None}


def new(key, number=None, price=None):
    given = {"order_id": str(key), "order_number": number, "price": price}
    return {name: text for name, text in given.items() if text is not None}


def count(position, key, *texts):
    names = ("id", "pieces", "cents", "whole", "sum")
    row = dict(zip(names, map(str, (key, *texts)), strict=True))
    return message("INSERT", position, row, table="counts")


def part(operation, position, data, key=None):
    said = shareplex(operation, position, data, key)
    return said | {"meta": said["meta"] | {"table": "lab.parts"}}


@pytest.fixture(scope="module")
def orders(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("renamed", write_project, own=True)
    return Orders(lakehouse, tmp_path_factory.mktemp("landing"))


def test_until_a_model_follows_values_and_rows_are_missing(orders):
    orders.land(
        part("ins", 10, {"id": "1", "order_no": "P1", "price": "1.00"}),
        part("upd", 20, {"order_number": "P1b"}, {"order_id": "1", "order_number": "P1"}),
        topic="plex.parts",
    )
    orders.land(
        count(10, 1, 7, "1.25", 8, 7),
        count(11, 2, 9, "99.99", -9, 3_000_000_000),
        topic="lab.counts",
    )
    orders.deliver(
        message("INSERT", 10, old(1, "A1", "1.00")),
        message("INSERT", 11, old(2, "A2", "2.00")),
        message("INSERT", 12, old(3, "A3", "3.00")),
        message("INSERT", 13, old(5, "A5", "5.00")),
        message("UPDATE", 20, old(2, "A2b", "2.00"), {"order_no": "A2"}),
        statement(30, "alter table things rename column order_no to order_number"),
        message("UPDATE", 40, {"id": "1", "order_number": "B1", "price": "1.00"}),
        message("INSERT", 50, {"id": "4", "order_number": "B4", "price": "4.00"}),
        statement(55, "alter table things rename column id to order_id"),
        message("UPDATE", 60, new(30, "A3", "3.00"), {"order_id": "3"}),
    )
    assert orders.now(columns="id, order_no, cast(price as string) as price") == [
        (1, "A1", "1.00"),
        (2, "A2b", "2.00"),
        (3, "A3", "3.00"),
        (4, None, "4.00"),
        (5, "A5", "5.00"),
    ]
    # Both rows of the update of the key.
    assert len(orders.lakehouse.query("select * from gold_storage.things_without_key")) == 2
    assert orders.now("sums", "id, sum") == [(1, 7), (2, None)]


def test_a_run_with_the_former_names_fills_what_was_missing(orders):
    write_models(orders.lakehouse.project, is_after=True)
    orders.lakehouse.dbt("run", "-s", *MODELS)
    assert orders.now() == [
        (1, "B1", "1.00"),
        (2, "A2b", "2.00"),
        (4, "B4", "4.00"),
        (5, "A5", "5.00"),
        (30, "A3", "3.00"),
    ]
    assert orders.now("parts") == [(1, "P1b", "1.00")]
    assert orders.lakehouse.query("select * from gold_storage.things_without_key") == []


def test_a_table_is_widened_in_place_unless_a_value_did_not_fit(orders):
    assert "CHANGE COLUMN" in orders.operations("counts")
    assert not [o for o in orders.operations("counts") if "REPLACE" in o]
    counts = [
        (1, 7, "1.250", 8),
        (2, 9, "99.990", -9),
    ]
    assert orders.now("counts", COUNT) == counts
    assert [o for o in orders.operations("sums") if "REPLACE" in o]
    assert orders.now("sums", "id, sum") == [(1, 7), (2, 3_000_000_000)]
    protocol = orders.lakehouse.query("describe detail gold_storage.counts")[0]["tableFeatures"]
    plain = orders.lakehouse.query("describe detail gold_plain.counts")[0]["tableFeatures"]
    assert ("typeWidening" in protocol, "typeWidening" in plain) == (True, False)


def test_late_and_partial_changes_find_their_column_under_either_name(orders):
    orders.land(
        part("upd", 15, {"price": "1.50"}, {"id": "1", "price": "1.00"}), topic="plex.parts"
    )
    orders.land(
        count(20, 5_000_000_000, 6_000_000_000, "1234.567", 12_345_678_901, 1),
        topic="lab.counts",
    )
    both = {"order_id": "1", "order_number": "B1x", "order_no": "Z", "price": "1.60"}
    orders.deliver(
        message("UPDATE", 70, new(5, price="5.55"), {"price": "5.00"}),
        message("UPDATE", 72, new(2, "B2"), {"order_number": "A2b"}),
        message("UPDATE", 76, {"order_id": "4", "order_number": "B4", "cost": "many"}),
        # A new column has taken the old name.
        message("UPDATE", 80, both, {"order_number": "B1", "price": "1.00"}),
        # Late changes from before the renames.
        message("UPDATE", 25, old(1, "L1", "1.00"), {"order_no": "A1"}),
        message("UPDATE", 28, old(5, "A5b"), {"order_no": "A5"}),
        message("UPDATE", 29, old(2, price="2.22"), {"price": "2.00"}),
    )
    assert orders.now() == [
        (1, "B1x", "1.60"),
        (2, "B2", "2.22"),
        (4, "B4", None),
        (5, "A5b", "5.55"),
        (30, "A3", "3.00"),
    ]
    assert orders.now("parts") == [(1, "P1b", "1.50")]
    problems = orders.lakehouse.query("select _problems from gold.things where order_id = 4")
    assert [tuple(p.asDict().values()) for p in problems[0]["_problems"]] == [
        ("price", "invalid", "many")
    ]
    assert orders.now("things_history", f"{ORDER}, is_current") == [
        (1, "A1", "1.00", False),
        (1, "L1", "1.00", False),
        (1, "B1", "1.00", False),
        (1, "B1x", "1.60", True),
        (2, "A2", "2.00", False),
        (2, "A2b", "2.00", False),
        (2, "A2b", "2.22", False),
        (2, "B2", "2.22", True),
        (3, "A3", "3.00", False),
        (4, "B4", "4.00", False),
        (4, "B4", None, True),
        (5, "A5", "5.00", False),
        (5, "A5b", "5.00", False),
        (5, "A5b", "5.55", True),
        (30, "A3", "3.00", True),
    ]
    wide = (5_000_000_000, 6_000_000_000, "1234.567", 12_345_678_901)
    assert orders.now("counts", COUNT)[-1] == wide
    assert orders.lakehouse.query(f"select {COUNT} from gold_plain.counts where id = {wide[0]}")


def test_former_names_that_are_seen_again_are_other_columns(orders):
    assert orders.unread() == ["cost", "order_no"]


def test_a_rebuild_gives_the_same_rows_before_and_after_a_truncate(orders):
    stored = {model: orders.stored(model) for model in MODELS}
    orders.lakehouse.dbt("run", "--full-refresh", "-s", *MODELS)
    assert {model: orders.stored(model) for model in MODELS} == stored
    orders.deliver(
        truncate(90),
        message("INSERT", 95, new(9, "B9", "9.00")),
        message("UPDATE", 29, old(5, "A5c", "5.00"), {"order_no": "A5b"}),
        models={"things": "", "things_history": ""},
    )
    assert orders.now() == [(9, "B9", "9.00")]


def test_an_erasure_finds_a_key_under_each_of_its_names(orders):
    code, said, errors = orders.lakehouse.command("erase", "lab.things", "--key", "order_id=1")
    assert code == 0, said + errors
    key = "coalesce(after['order_id'], after['id'])"
    rows = orders.lakehouse.query(
        f"select {key} as key, count(*) as changes from silver.events "
        "where kind = 'row_change' and table_name = 'things' group by 1 order by 1"
    )
    found = {row["key"]: row["changes"] for row in rows}
    assert found == {"2": 4, "3": 1, "30": 1, "4": 2, "5": 4, "9": 1}
    assert 1 not in {row[0] for row in orders.now("things_history")}


def test_a_query_that_reads_a_former_name_is_refused(orders):
    write_models(orders.lakehouse.project, True, {"order_number": "order_no"})
    (said,) = orders.lakehouse.dbt("run", "-s", "things", fails=True)
    assert "order_number is made from image['order_no'], a former name of order_number" in said
