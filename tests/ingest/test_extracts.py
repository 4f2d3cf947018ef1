"""In whatever order changes and full extracts come, gold holds what the semantics say.

docs/reconcile.md has the semantics, `extracts.Model` does them to a plain dictionary. Each source
table of the test is a random world of its own; all are delivered in the same runs.
"""

import json
import os
import random
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from extracts import START, Change, Model, random_world
from laboratory import change
from metastore import PASSWORD, USER, Postgres
from shop import Keyed, write_messages

pytestmark = pytest.mark.full

SEED = int(os.environ["SEED"])
MODEL = """{config}select
    {{{{ change_columns() }}}},
    image['shard'] as shard,
    try_cast(image['id'] as bigint) as id,
    image['name'] as name,
    try_cast(image['price'] as decimal(6, 2)) as price
from {{{{ ref('row_images') }}}}
where database_name = 'lab' and table_name in ({tables})
"""
YAML = """
  - name: {name}
    description: Things of many tables. One row per thing.
    constraints: [{{type: primary_key, columns: [shard, id]}}]
    columns:
      - {{name: shard, data_type: string, description: Table.}}
      - {{name: id, data_type: bigint, description: Number.}}
      - {{name: name, data_type: string, description: Name.}}
      - {{name: price, data_type: "decimal(6, 2)", description: Price.}}
"""
MODELS = {"things": "", "things_history": "{{ config(materialized='history') }}\n\n"}


def add_models(project):
    folder = project / "models" / "gold" / "lab"
    folder.mkdir()
    tables = ", ".join(f"'{name}'" for name in ("files", *(f"t{n:02}" for n in range(60))))
    for name, config in MODELS.items():
        (folder / f"{name}.sql").write_text(MODEL.format(config=config, tables=tables))
    (folder / "_lab.yml").write_text("models:" + "".join(YAML.format(name=n) for n in MODELS))
    topics = project / "seeds" / "topics.csv"
    topics.write_text(topics.read_text() + "lab.*,dts_canal,,,,\n")


def row_of(shard, row):
    number, name, price = row
    return {"shard": shard, "id": str(number), "name": name, "price": price}


def message_of(shard, each):
    """The Canal message of a change."""
    rows = [row_of(shard, row) for row in (each.after or each.before,) if row]
    old = None
    if each.operation == "update":
        old = [row_of(shard, each.before)]
    kind = each.operation.upper()
    message = change(kind, each.place, *rows, old=old, es=each.second * 1000)
    message |= {"table": shard, "pkNames": ["shard", "id"]}
    message["mysqlType"] = message["mysqlType"] | {"shard": "varchar(9)"}
    if each.operation == "truncate":
        message |= {"type": "DDL", "isDdl": True, "sql": f"truncate table {shard}", "data": None}
    return json.dumps(message).encode()


def messages_of_extract(shard, extract):
    """The messages of an extract, as `lakehouse ingest snapshot` lands them."""
    said = {
        "database": "lab",
        "schema": None,
        "table": shard,
        "taken_at": f"{datetime.fromtimestamp(extract.second, UTC):%Y-%m-%d %H:%M:%S}",
        "key": ["shard", "id"],
        "is_partial": False,
        "rows": len(extract.rows),
    }
    key = json.dumps(said).encode()
    topic = f"extract:lab.{shard}"
    values = [json.dumps({"row": row_of(shard, row)}).encode() for row in extract.rows]
    rows = [(topic, extract.number, n + 1, Keyed(v, key)) for n, v in enumerate(values)]
    return [(topic, extract.number, 0, NoValue(key)), *rows]


class NoValue:
    """No value, of a message with a key."""

    def __init__(self, key):
        self.key = key


class Worlds:
    """Random source tables, what of them has come, and what gold has to hold by then."""

    def __init__(self, count, batches, folder):
        self.generator, self.folder = random.Random(SEED), folder
        self.worlds = {f"t{n:02}": random_world(self.generator) for n in range(count)}
        self.come = {shard: ([], []) for shard in self.worlds}
        self.batches = [{shard: ([], []) for shard in self.worlds} for _ in range(batches)]
        for shard, world in self.worlds.items():
            self._deal(shard, world)

    def _deal(self, shard, world):
        """Most changes come in order, some late by any distance; extracts come at any time."""
        last, draw = len(self.batches) - 1, self.generator.randrange
        for number, one in enumerate(world.feed):
            in_order = number * len(self.batches) // len(world.feed)
            is_late = self.generator.random() < 0.2
            batch = draw(in_order, last + 1) if is_late else in_order
            self.batches[batch][shard][0].append(one)
        for extract in world.extracts:
            self.batches[draw(last + 1)][shard][1].append(extract)

    def land(self, lakehouse, number):
        rows = []
        for shard, (changes, extracts) in self.batches[number].items():
            self.generator.shuffle(changes)
            messages = [message_of(shard, one) for one in changes]
            rows += [(f"lab.{shard}", number, n, message) for n, message in enumerate(messages)]
            for extract in extracts:
                rows += messages_of_extract(shard, extract)
            self.come[shard][0].extend(changes)
            self.come[shard][1].extend(extracts)
        write_messages(self.folder / f"{number}.parquet", rows)
        assert not lakehouse.ingest(self.folder).problems

    def check(self, lakehouse):
        models = {shard: Model(*said) for shard, said in self.come.items()}
        wanted = [(s, *row) for s, model in models.items() for row in model.current]
        assert self.of_worlds(current(lakehouse)) == sorted(wanted)
        wanted = [(s, *version) for s, model in models.items() for version in model.versions]
        assert self.of_worlds(versions(lakehouse)) == sorted(wanted, key=str)

    def check_end(self, lakehouse):
        """All has come: what the feed has lost before the last extract is there."""
        assert self.of_worlds(current(lakehouse)) == sorted(
            (shard, *row) for shard, world in self.worlds.items() for row in world.rows.values()
        )

    def of_worlds(self, rows):
        return [row for row in rows if row[0] in self.worlds]


@pytest.fixture(scope="module")
def lakehouse(open_lakehouse):
    lakehouse = open_lakehouse("extracts", add_models)
    lakehouse.dbt("seed")
    return lakehouse


def run(lakehouse):
    lakehouse.dbt("run", "-s", "events", "row_images", "reconciled_deletes", *MODELS)


def current(lakehouse):
    rows = lakehouse.query(
        "select shard, id, name, cast(price as string) as price from gold.things order by all"
    )
    return [tuple(row.values()) for row in rows]


def versions(lakehouse):
    rows = lakehouse.query(
        "select shard, id, name, cast(price as string) as price, unix_seconds(valid_from), "
        "unix_seconds(valid_to) from gold.things_history order by all"
    )
    return sorted((tuple(row.values()) for row in rows), key=str)


# One source table, its extracts in files, and the command.
FEED = [
    Change(1, START, "insert", after=(1, "a", "1.00")),
    Change(2, START, "insert", after=(2, "b", "2.00")),
    Change(3, START + 1, "insert", after=(3, "c", "3.00")),
    # After the extract was begun, but seen by it.
    Change(9, START + 100, "insert", after=(5, "e", "5.00")),
]
MOMENT = f"{datetime.fromtimestamp(START + 60, UTC):%Y-%m-%d %H:%M:%S}"
# Of the feed 2 has another price here, 3 is gone, and 4 was never told of.
ROWS = [("1", "a", "1.0"), ("2", "b", "2.50"), ("4", "d", "4.00"), ("5", "e", "5.00")]


def write_csv(path, rows, header=("shard", "id", "name", "price")):
    lines = [header, *(("files", *row) for row in rows)]
    path.write_text("".join(",".join(line[: len(header)]) + "\n" for line in lines))
    return path


def feed(lakehouse, folder, number, *changes):
    rows = [("lab.files", number, n, message_of("files", c)) for n, c in enumerate(changes)]
    write_messages(folder / "feed" / f"{number}.parquet", rows)
    assert not lakehouse.ingest(folder / "feed").problems


def snapshot(lakehouse, *arguments, code=0):
    """Type the command; return what it prints as JSON, or the error."""
    given = ("--table", "lab.files", "--taken-at", MOMENT, "--json")
    ended, out, err = lakehouse.command("ingest", "snapshot", *given, *map(str, arguments))
    assert ended == code, err
    return json.loads(out)


def of_files(rows):
    return [row[1:] for row in rows if row[0] == "files"]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """Random source tables; a run of dbt takes minutes, so that theirs are those of all tests."""
    return Worlds(12, 2, tmp_path_factory.mktemp("worlds"))


@pytest.fixture(scope="module")
def files(lakehouse, worlds, tmp_path_factory):
    """The folder of a source table that has been fed, and merged."""
    folder = tmp_path_factory.mktemp("files")
    feed(lakehouse, folder, 0, *FEED)
    worlds.land(lakehouse, 0)
    run(lakehouse)
    worlds.check(lakehouse)
    return folder


def test_a_dry_run_tells_what_differs_and_lands_nothing(lakehouse, files):
    found = snapshot(lakehouse, write_csv(files / "a.csv", ROWS), "--dry-run", code=1)
    counts = ("rows", "equal", "missing", "extra", "different", "changed_since")
    assert [found[name] for name in counts] == [4, 1, 1, 1, 1, 1]
    assert (found["columns"], found["notes"]) == ({"price": 1}, [])
    assert found["keys"] == {
        "missing": ["shard=files, id=4"],
        "extra": ["shard=files, id=3"],
        "price": ["shard=files, id=2"],
    }
    topics = lakehouse.query("select distinct topic from bronze.messages")
    assert "extract:lab.files" not in {row["topic"] for row in topics}


@pytest.mark.parametrize(
    ("rows", "header", "options", "said"),
    [
        (
            [("", "a", "1")],
            None,
            (),
            "Rows of the extract lack a part of the key: shard=files, id=",
        ),
        ([("1", "a", "1"), ("1", "b", "1")], None, (), "come twice: shard=files, id=1"),
        (
            [("1", "a")],
            ("shard", "id", "name"),
            (),
            "The extract lacks columns of lab.files: price",
        ),
        (
            [("1",)],
            ("shard", "number"),
            ("--partial",),
            "The extract lacks the key of lab.files: id",
        ),
        ([("1", "a", "1")], ("shard", "id", "id", "x"), (), "Its columns are shard, id1, id2, x."),
    ],
)
def test_an_extract_that_cannot_be_one_lands_nothing(lakehouse, files, rows, header, options, said):
    header = header or ("shard", "id", "name", "price")
    path = write_csv(files / "bad.csv", rows, header)
    error = snapshot(lakehouse, path, *options, code=2)["error"]
    assert said in error


def test_an_extract_corrects_what_the_feed_has_lost(lakehouse, files, worlds):
    table = pa.table(
        {
            "shard": ["files"] * len(ROWS),
            "id": pa.array([int(row[0]) for row in ROWS], pa.int64()),
            "name": [row[1] for row in ROWS],
            "price": pa.array([Decimal(row[2]) for row in ROWS], pa.decimal128(8, 3)),
        }
    )
    pq.write_table(table, files / "a.parquet")
    landed = snapshot(lakehouse, files / "a.parquet")
    assert (landed["rows"], landed["key"], landed["is_new"]) == (4, ["shard", "id"], True)
    again = snapshot(lakehouse, files / "a.parquet")
    assert not again["is_new"] and again["notes"] == [
        "This extract of lab.files has landed before."
    ]

    names = files / "names.jsonl"
    names.write_text('{"shard": "files", "id": 2, "name": "B"}\n')
    assert snapshot(lakehouse, names, "--partial")["rows"] == 1

    # Comes late, and belongs before the extract, which does not have the row.
    feed(lakehouse, files, 1, Change(4, START + 2, "insert", after=(6, "f", "6.00")))
    worlds.land(lakehouse, 1)
    run(lakehouse)
    worlds.check(lakehouse)
    worlds.check_end(lakehouse)
    rows = [(1, "a", "1.00"), (2, "B", "2.50"), (4, "d", "4.00"), (5, "e", "5.00")]
    assert of_files(current(lakehouse)) == rows
    moment = START + 60
    # The extract that lacks columns is later than the other of the same moment, and deletes no row.
    history = [
        (1, "a", "1.00", START, None),
        (2, "b", "2.00", START, moment),
        (2, "b", "2.50", moment, moment),
        (2, "B", "2.50", moment, None),
        (3, "c", "3.00", START + 1, moment),
        (4, "d", "4.00", moment, None),
        (5, "e", "5.00", moment, None),
        (6, "f", "6.00", START + 2, moment),
    ]
    assert of_files(versions(lakehouse)) == sorted(history, key=lambda v: str(("files", *v)))
    deleted = lakehouse.query(
        "select before['id'] as id, unix_seconds(committed_at) as at "
        "from silver.reconciled_deletes where table_name = 'files' order by id"
    )
    assert [(row["id"], row["at"]) for row in deleted] == [("3", moment), ("6", moment)]
    write_csv(files / "b.csv", [(str(n), *rest) for n, *rest in rows])
    agreed = snapshot(lakehouse, files / "b.csv", "--dry-run")
    assert (agreed["equal"], agreed["changed_since"]) == (3, 1)


def set_environment(values):
    os.environ.update(values)


@pytest.mark.long
def test_an_extract_comes_from_a_database_by_jdbc(lakehouse, files):
    postgres = Postgres()
    try:
        values = ", ".join(f"({n}, '{name}', {price})" for n, name, price in ROWS)
        named = "as t (id, name, price)"
        columns = "'files' as shard, id, name, cast(price as numeric(6, 2)) as price"
        query = f"select {columns} from (values {values}) {named}"
        given = ("--jdbc", postgres.address(), "--query", query)
        wrong = {"LAKEHOUSE_JDBC_USER": USER, "LAKEHOUSE_JDBC_PASSWORD": "wr0ng"}
        lakehouse.process.submit(set_environment, wrong).result()
        error = snapshot(lakehouse, *given, code=2)["error"]
        assert "password authentication failed" in error and "wr0ng" not in error

        right = {"LAKEHOUSE_JDBC_PASSWORD": PASSWORD}
        lakehouse.process.submit(set_environment, right).result()
        landed = snapshot(lakehouse, *given)
        assert (landed["rows"], landed["is_new"]) == (4, True)
        assert not snapshot(lakehouse, *given)["is_new"]
    finally:
        postgres.remove()
    keys = "cast(key as string) as key, cast(value as string) as value"
    rows = lakehouse.query(
        f"select {keys} from bronze.messages where topic = 'extract:lab.files' "
        f"and partition = {landed['partition']} and value is not null order by offset"
    )
    found = sorted(json.loads(row["value"])["row"]["price"] for row in rows)
    assert found == ["1.00", "2.50", "4.00", "5.00"]
    assert not [row for row in rows if PASSWORD in row["key"]]


@pytest.mark.long
def test_gold_holds_what_changes_and_extracts_say_in_any_order(open_lakehouse, tmp_path):
    batches = int(os.environ.get("EXTRACT_BATCHES") or 5)
    worlds = Worlds(60, batches, tmp_path)
    lakehouse = open_lakehouse("histories", add_models, own=True)
    lakehouse.dbt("seed")
    for number in range(batches):
        worlds.land(lakehouse, number)
        run(lakehouse)
        worlds.check(lakehouse)
    worlds.check_end(lakehouse)
    for models in (MODELS, ("events", *MODELS)):
        lakehouse.dbt("run", "--full-refresh", "-s", *models)
        worlds.check(lakehouse)
