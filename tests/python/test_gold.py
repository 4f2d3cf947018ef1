"""The rules of the merge, each on a small table of its own."""

import json
import os
import random

import pytest
from shop import DELIVERY, write_messages

SEED = int(os.environ.get("SEED") or random.randrange(10**6))

MODEL = """select
    {{{{ change_columns() }}}},
{columns}
from {{{{ ref('row_images') }}}}
where database_name = 'lab' and table_name = 'things'
"""
YAML = """models:
  - name: things
    description: Things of the laboratory. One row per thing.
    constraints: [{type: primary_key, columns: [id]}]
    data_tests: [changes_have_a_key, values_fit_their_types]
    columns:
      - {name: id, data_type: bigint, description: Number.}
      - {name: name, data_type: string, description: Name.}
      - {name: price, data_type: "decimal(6, 2)", description: Price.}
"""
COLUMNS = {
    "id": "try_cast(image['id'] as bigint)",
    "name": "image['name']",
    "price": "try_cast(image['price'] as decimal(6, 2))",
}


def write_model(project, columns=COLUMNS, yaml=YAML):
    folder = project / "models" / "gold" / "lab"
    folder.mkdir(exist_ok=True)
    listed = ",\n".join(f"    {expression} as {name}" for name, expression in columns.items())
    (folder / "things.sql").write_text(MODEL.format(columns=listed))
    (folder / "_lab.yml").write_text(yaml)
    topics = project / "seeds" / "topics.csv"
    if "lab.*" not in topics.read_text():
        topics.write_text(topics.read_text() + "lab.*,dts_canal,,,,\nplex.*,dts_shareplex,,,,\n")


class Laboratory:
    """The table lab.things, changed by Canal messages whose `id` is the position in the source."""

    def __init__(self, lakehouse, landing):
        self.lakehouse, self.landing, self.offset = lakehouse, landing, 0
        write_model(lakehouse.project)
        lakehouse.dbt("seed")

    def deliver(self, *messages, topic="lab.things"):
        """Land the messages at the next offsets and run dbt; return what `things` said."""
        rows = []
        for message in messages:
            text = message if isinstance(message, bytes) else json.dumps(message).encode()
            rows.append((topic, 0, self.offset, text))
            self.offset += 1
        write_messages(self.landing / f"{self.offset}.parquet", rows)
        self.lakehouse.ingest(self.landing)
        return self.lakehouse.dbt("run", "-s", "events", "row_images", "things")["things"]

    def rows(self, columns="id, name, cast(price as string) as price"):
        rows = self.lakehouse.query(f"select {columns} from gold.things order by id")
        return [tuple(row.values()) for row in rows]

    def history(self):
        """Return Delta's commits of the stored table, the latest first."""
        return self.lakehouse.query("describe history gold_storage.things")


def change(kind, position, *rows, old=None):
    return {
        "data": list(rows),
        "old": old,
        "database": "lab",
        "table": "things",
        "type": kind,
        "id": position,
        "es": 1_790_000_000_000 + position,
        "ts": 1_790_000_000_500 + position,
        "isDdl": False,
        "sql": "",
        "pkNames": ["id"],
        "mysqlType": {"id": "bigint", "name": "varchar(20)", "price": "decimal(6,2)"},
    }


def without_delivery(rows):
    return [{name: v for name, v in row.items() if name not in DELIVERY} for row in rows]


def thing(number, name, price="1.00"):
    return {"id": str(number), "name": name, "price": price}


@pytest.fixture(scope="module")
def laboratory(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("laboratory", change=write_model)
    return Laboratory(lakehouse, tmp_path_factory.mktemp("laboratory-landing"))


def test_the_latest_in_the_source_wins_in_any_order(laboratory):
    insert = change("INSERT", 100, thing(1, "new"))
    update = change("UPDATE", 300, thing(1, "third"), old=[{"name": "second"}])
    earlier = change("UPDATE", 200, thing(1, "second"), old=[{"name": "new"}])
    laboratory.deliver(update, insert)
    assert laboratory.rows() == [(1, "third", "1.00")]
    laboratory.deliver(earlier)
    assert laboratory.rows() == [(1, "third", "1.00")]
    laboratory.deliver(insert, earlier)
    assert laboratory.rows() == [(1, "third", "1.00")]


def test_a_change_that_is_applied_rewrites_nothing(laboratory):
    commits = laboratory.history()
    laboratory.deliver(change("UPDATE", 300, thing(1, "third"), old=[{"name": "second"}]))
    latest = laboratory.history()
    assert len(latest) == len(commits) + 1
    metrics = latest[0]["operationMetrics"]
    assert metrics["numSourceRows"] == "1"
    assert metrics["numTargetFilesAdded"] == metrics["numTargetFilesRemoved"] == "0"
    assert metrics["numTargetDeletionVectorsAdded"] == "0"


def test_equal_content_with_a_newer_position_counts(laboratory):
    laboratory.deliver(change("UPDATE", 500, thing(1, "third"), old=[{"name": "third"}]))
    laboratory.deliver(change("UPDATE", 400, thing(1, "late"), old=[{"name": "third"}]))
    assert laboratory.rows("id, name, ltrim('0', split(_sequence, '[.]')[0]) as at") == [
        (1, "third", "500")
    ]


def test_a_late_change_does_not_bring_a_deleted_row_back(laboratory):
    laboratory.deliver(
        change("INSERT", 600, thing(2, "gone")), change("DELETE", 700, thing(2, "gone"))
    )
    assert [row[0] for row in laboratory.rows()] == [1]
    laboratory.deliver(change("UPDATE", 650, thing(2, "back"), old=[{"name": "gone"}]))
    assert [row[0] for row in laboratory.rows()] == [1]
    laboratory.deliver(change("INSERT", 800, thing(2, "again")))
    assert laboratory.rows()[1] == (2, "again", "1.00")
    # What is kept of a deleted row is its key, not its content.
    laboratory.deliver(change("DELETE", 900, thing(2, "again")))
    kept = laboratory.lakehouse.query("select * from gold_storage.things where id = 2")
    assert [(row["name"], row["price"], row["_operation"]) for row in kept] == [
        (None, None, "delete")
    ]


def test_a_moved_key_is_a_delete_and_an_insert(laboratory):
    laboratory.deliver(
        change("INSERT", 1000, thing(3, "three"), thing(4, "four")),
        # Two rows change places in one message: neither may be lost.
        change("UPDATE", 1100, thing(5, "three"), thing(3, "four"), old=[{"id": "3"}, {"id": "4"}]),
    )
    assert laboratory.rows()[1:] == [(3, "four", "1.00"), (5, "three", "1.00")]


def test_a_truncate_removes_what_is_older(laboratory):
    truncate = {
        "database": "lab",
        "table": "things",
        "type": "DDL",
        "isDdl": True,
        "sql": "/* nightly */ truncate table `things`",
        "id": 1200,
        "es": 1_790_000_001_200,
        "ts": 1_790_000_001_200,
    }
    laboratory.deliver(change("INSERT", 1300, thing(6, "after")), truncate)
    assert laboratory.rows() == [(6, "after", "1.00")]
    laboratory.deliver(change("UPDATE", 1150, thing(3, "late"), old=[{"name": "four"}]), truncate)
    assert laboratory.rows() == [(6, "after", "1.00")]


def test_a_value_that_does_not_fit_is_null_and_named(laboratory):
    codes = {
        "12.345": "loses_digits",
        "12345.00": "out_of_range",
        "many": "invalid",
        "12.340": None,
        "1e3": None,
        "9999.99": None,
    }
    first = 10
    rows = [thing(first + n, "n", price) for n, price in enumerate(codes)]
    laboratory.deliver(change("INSERT", 2000, *rows))
    found = laboratory.lakehouse.query(
        "select price is null as is_lost, _problems from gold.things"
        f" where id >= {first} order by id"
    )
    for row, (price, code) in zip(found, codes.items(), strict=True):
        problems = [tuple(problem) for problem in row["_problems"]]
        assert problems == ([("price", code, price)] if code else [])
        assert row["is_lost"] is bool(code)


def test_a_change_without_a_key_is_reported_and_not_merged(laboratory):
    before = laboratory.rows()
    no_key = {"name": "nobody", "price": "1.00"}
    laboratory.deliver(
        change("INSERT", 3000, no_key),
        change("INSERT", 3100, {"id": None, "name": "null", "price": "1.00"}),
        change("INSERT", 3200, thing("x", "no number")),
    )
    assert laboratory.rows() == before
    reported = laboratory.lakehouse.query("select name from gold_storage.things_without_key")
    assert sorted(row["name"] for row in reported) == ["no number", "nobody", "null"]


def test_a_new_column_is_filled_for_existing_rows(laboratory):
    """One line in SQL and one in YAML; the table is built anew from silver in one commit."""
    before = laboratory.rows()
    yaml = YAML + "      - {name: upper_name, data_type: string, description: Name in capitals.}\n"
    columns = {**COLUMNS, "upper_name": "upper(image['name'])"}
    write_model(laboratory.lakehouse.project, columns, yaml)
    commits = len(laboratory.history())
    laboratory.lakehouse.dbt("run", "-s", "things")
    assert len(laboratory.history()) == commits + 1
    assert laboratory.rows() == before
    assert laboratory.rows("upper_name") == [(row[1].upper(),) for row in before]
    assert laboratory.lakehouse.dbt("run", "-s", "things")["things"] == "NOTHING NEW"
    write_model(laboratory.lakehouse.project)
    laboratory.lakehouse.dbt("run", "-s", "things")
    assert laboratory.rows() == before


def test_a_run_is_one_commit_per_table(laboratory):
    commits = laboratory.history()
    events = laboratory.lakehouse.query("describe history silver.events")
    laboratory.deliver(
        change("INSERT", 4000, thing(20, "a")), change("DELETE", 4100, thing(6, "b"))
    )
    assert len(laboratory.history()) == len(commits) + 1
    assert len(laboratory.lakehouse.query("describe history silver.events")) == len(events) + 1


def test_a_full_refresh_gives_the_same_stored_rows(laboratory):
    stored = "select * from gold_storage.things order by id, _truncated_table"
    before = laboratory.lakehouse.query(stored)
    laboratory.lakehouse.dbt("run", "--full-refresh", "-s", "things")
    assert laboratory.lakehouse.query(stored) == before


def test_a_model_without_a_key_is_refused_when_it_is_compiled(laboratory):
    write_model(laboratory.lakehouse.project, yaml=YAML.replace("constraints", "# constraints"))
    said = laboratory.lakehouse.dbt("compile", "-s", "things", fails=True)
    assert "things has no key" in said[0]
    assert "primary_key" in said[0]


def test_a_model_that_breaks_its_contract_is_refused_with_a_table(laboratory):
    columns = {**COLUMNS, "price": "try_cast(image['price'] as double)"}
    write_model(laboratory.lakehouse.project, columns)
    write_messages(
        laboratory.landing / "contract.parquet",
        [("lab.things", 0, 10_000, json.dumps(change("INSERT", 9000, thing(30, "a"))).encode())],
    )
    laboratory.lakehouse.ingest(laboratory.landing)
    said = "\n".join(laboratory.lakehouse.dbt("run", "-s", "events", "things", fails=True))
    assert "enforced contract that failed" in said
    assert "price" in said
    write_model(laboratory.lakehouse.project)
    laboratory.lakehouse.dbt("run", "-s", "things")
    assert (30, "a", "1.00") in laboratory.rows()


def test_partial_images_change_only_what_they_carry(laboratory):
    """Random partial updates, in any order and batching, give what the source's order gives."""
    generator = random.Random(SEED)
    print(f"SEED={SEED}")
    numbers, expected, messages = range(40, 46), {}, []
    for position in range(6000, 6060):
        number = generator.choice(numbers)
        row = expected.get(number)
        if row is None or generator.random() < 0.1:
            row = {"id": str(number), "name": f"n{position}", "price": f"{position}.00"}
            messages.append(change("INSERT", position, row))
        elif generator.random() < 0.15:
            messages.append(change("DELETE", position, row))
            row = None
        else:
            column = generator.choice(["name", "price"])
            value = f"p{position}" if column == "name" else f"{position}.50"
            part = {"id": str(number), column: value}
            messages.append(change("UPDATE", position, part, old=[{column: row[column]}]))
            row = {**row, column: value}
        expected[number] = row
    generator.shuffle(messages)
    messages += generator.sample(messages, 10)
    for start in range(0, len(messages), 24):
        laboratory.deliver(*messages[start : start + 24])
    rows = {row[0]: row[1:] for row in laboratory.rows() if row[0] in numbers}
    living = {n: (row["name"], row["price"]) for n, row in expected.items() if row}
    assert rows == living
    stored = "select * from gold_storage.things order by id, _truncated_table"
    before = laboratory.lakehouse.query(stored)
    laboratory.lakehouse.dbt("run", "--full-refresh", "-s", "things")
    # Which copy of a repeated change was read first depends on the batches.
    assert without_delivery(laboratory.lakehouse.query(stored)) == without_delivery(before)


def test_whole_images_store_nothing_extra(laboratory):
    laboratory.deliver(change("INSERT", 7000, *(thing(n, "whole") for n in range(40, 46))))
    stored = laboratory.lakehouse.query(
        "select count(*) as n from gold_storage.things where _column_sequences is not null"
    )
    assert stored == [{"n": 0}]


def shareplex(operation, position, data, key=None):
    """A message that names no key: of an update it carries some old columns and the new ones."""
    meta = {"op": operation, "table": "lab.things", "scn": str(position), "seq": 1}
    return {"meta": meta, "data": data} | ({"key": key} if key else {})


@pytest.mark.parametrize("batches", [1, 3])
def test_an_update_without_a_named_key_keeps_what_it_does_not_carry(laboratory, batches):
    number = 80 + batches
    messages = [
        shareplex("ins", 8000, thing(number, "a", "3.00")),
        shareplex("upd", 8001, {"name": "b"}, {"id": str(number), "name": "a"}),
        shareplex("upd", 8002, {"name": "c"}, {"id": str(number), "name": "b"}),
    ]
    for batch in [messages] if batches == 1 else [[message] for message in reversed(messages)]:
        laboratory.deliver(*batch, topic="plex.things")
    assert (number, "c", "3.00") in laboratory.rows()
