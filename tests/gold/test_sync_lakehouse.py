"""`lakehouse sync` on tables that change: the example of its page, and what gold has after it."""

import json
import re

import pytest
from conftest import PROJECT
from encoders.project import remove_gold
from laboratory import change, statement
from shop import write_messages

pytestmark = pytest.mark.full

PAGE = (PROJECT / "docs" / "sync.md").read_text()
STATEMENTS, NAMED, SEED, DIFF = (
    text for _, text in re.findall(r"^```(sql|text|diff)\n(.*?)^```$", PAGE, re.M | re.S)
)
TYPES = {"id": "bigint", "part_no": "varchar(20)", "qty": "int", "note": "varchar(50)"}
NEW_TYPES = {
    "id": "bigint",
    "part_number": "varchar(20)",
    "qty": "bigint",
    "weight": "decimal(6,2)",
}
VIEWS = ("row_images", "schema_changes", "column_shapes", "source_columns")


def prepare(project):
    remove_gold(project)
    topics = project / "seeds" / "topics.csv"
    topics.write_text(topics.read_text() + "shop.*,canal,,,,\n")


def row(position, types, *values, table="parts", kind="INSERT", old=None):
    image = dict(zip(types, values, strict=True))
    message = change(kind, position, image, old=old)
    return message | {"database": "shop", "table": table, "mysqlType": types}


class Source:
    """The lakehouse, and the source whose messages it gets."""

    def __init__(self, lakehouse, landing):
        self.lakehouse, self.landing, self.sent = lakehouse, landing, 0
        self.folder = lakehouse.project / "models" / "gold" / "shop"
        self.seed = lakehouse.project / "seeds" / "gold_tables.csv"
        lakehouse.dbt("seed")

    def deliver(self, *messages, topic="shop.parts"):
        rows = []
        for message in messages:
            rows.append((topic, 0, self.sent, json.dumps(message).encode()))
            self.sent += 1
        write_messages(self.landing / f"{self.sent}.parquet", rows)
        self.lakehouse.ingest(self.landing)
        self.lakehouse.dbt("run", "-s", "events", *VIEWS)

    def sync(self, *options):
        return self.type("sync", *options)

    def type(self, *arguments):
        """Return the exit code of a command, and what it prints."""
        code, said, errors = self.lakehouse.command(*arguments, is_alone=True)
        assert "lakehouse: " not in errors, errors
        return code, said

    def texts(self):
        return {path.name: path.read_text() for path in self.folder.iterdir()}


@pytest.fixture(scope="module")
def source(open_lakehouse, tmp_path_factory):
    """A table with a model that add-table wrote, after the statements of the page."""
    lakehouse = open_lakehouse("sync", change=prepare)
    source = Source(lakehouse, tmp_path_factory.mktemp("sync-landing"))
    source.deliver(row(1, TYPES, "1", "A-1", "10", "x"), row(2, TYPES, "2", "A-2", "20", None))
    assert source.sync() == (0, "The models are up to date.\n")
    assert source.type("add-table", "shop.parts")[0] == 0
    lakehouse.dbt("run", "-s", "parts")
    renamed = STATEMENTS.splitlines()
    assert len(renamed) == 4
    statements = [
        statement(10 + place, text) | {"database": "shop", "table": "parts"}
        for place, text in enumerate(renamed)
    ]
    source.deliver(
        *statements,
        row(20, NEW_TYPES, "3", "A-3", "3000000000", "1.50"),
        row(21, NEW_TYPES, "1", "A-1b", "10", None, kind="UPDATE", old=[{"part_number": "A-1"}]),
    )
    return source


def test_it_names_and_writes_what_the_page_shows(source):
    before = source.texts()
    assert source.sync("--check") == (1, NAMED)
    assert source.sync() == (0, NAMED)  # no policy wants anything written
    assert source.texts() == before

    source.seed.write_text(SEED)
    told = NAMED.splitlines(True)[-1]
    assert source.sync("--check") == (1, DIFF + told)
    assert source.texts() == before
    assert source.sync() == (0, DIFF + told)
    assert source.sync("--check") == (1, told)
    source.seed.write_text(SEED.replace("report", "keep"))
    assert source.sync("--check") == (0, "The models are up to date.\n")


def test_gold_follows_with_the_next_run(source):
    source.lakehouse.dbt("run", "-s", "parts")
    query = "select id, part_no, qty, note, cast(weight as string) as weight from gold.parts"
    rows = {row["id"]: tuple(row.values()) for row in source.lakehouse.query(query)}
    assert rows.keys() == {1, 2, 3}
    assert rows[1] == (1, "A-1b", 10, "x", None)
    assert rows[3] == (3, "A-3", 3000000000, None, "1.50")
    assert rows[2] == (2, "A-2", 20, None, None)
    problems = "select id from gold.parts where size(_problems) > 0"
    assert source.lakehouse.query(problems) == []


def test_a_new_table_of_a_pattern_gets_its_model(source):
    bolts = {"id": "bigint", "size": "varchar(5)"}
    source.deliver(row(30, bolts, "1", "M8", table="bolts_7"), topic="shop.bolts")
    assert source.sync("--check")[0] == 0  # no line covers it
    source.seed.write_text("pattern,name,add\nshop.bolts_*,bolt_{1},\n")
    named = "shop.bolts_7  has no model  Type: lakehouse add-table shop.bolts_7 --as bolt_7\n"
    code, said = source.sync("--check")
    assert code == 1 and said.startswith(named)
    source.seed.write_text(
        "pattern,name,add,drop\nshop.bolts_*,bolt_{1},apply,keep\nshop.parts,,,keep\n"
    )
    code, said = source.sync("--json")
    document = json.loads(said)
    assert code == 0
    assert document["files"] == ["models/gold/shop/_shop.yml", "models/gold/shop/bolt_7.sql"]
    [finding] = document["findings"]
    assert (finding["table"], finding["kind"], finding["to_do"]) == ("shop.bolts_7", "add", None)
    assert source.sync("--check")[0] == 0
    source.lakehouse.dbt("run", "-s", "bolt_7")
    assert source.lakehouse.query("select id, size from gold.bolt_7") == [{"id": 1, "size": "M8"}]
