"""Marts that follow gold tables: a run computes the touched keys, and the mart equals its query."""

import json
import os
import random
import re

import pytest
from conftest import LANDING, PROJECT
from dbt.adapters.spark.relation import SparkRelation
from laboratory import MODEL, Laboratory, change, truncate, write_models
from test_erase import files_that_hold

from cdc_lakehouse.delta.past import UNREAD, Mark, note_of
from cdc_lakehouse.engine.change_feed import FeedReading
from cdc_lakehouse.engine.follows import Read, query_of_feeds, why_mart_is_rebuilt, why_not_followed
from cdc_lakehouse.engine.follows_model import read_mart, refuse_columns, refuse_types
from cdc_lakehouse.engine.follows_run import SOURCE, MartRun
from cdc_lakehouse.engine.steps import Ask, Commit, Say, Stage, follow
from cdc_lakehouse.errors import LakehouseError
from dbt.adapters.lakehouse.marks import Marks

pytestmark = pytest.mark.full

PAGE = (PROJECT / "docs" / "marts.md").read_text()
SAMPLE = PROJECT / "models" / "gold" / "shop" / "customer_totals.sql"
SEED = int(os.environ["SEED"])
# Of the soak: in how many runs a random history is read.
RUNS = int(os.environ.get("FOLLOWS_RUNS") or 2)

RELATION = SparkRelation.create(schema="marts", identifier="paid", type="table")
SQL = """select sales.id as sale_id, buyers.id as buyer_id, 'of gold.sales' as note
from gold.sales -- gold.sales as they are
join gold.buyers on sales.buyer_id = gold.buyers.id"""
FOLLOWS = {"sales": {"sale_id": "id"}, "buyers": {"buyer_id": "id"}}


# Without Spark.


def nodes(**kinds):
    return {
        f"model.shop.{name}": {
            "name": name,
            "schema": "gold",
            "alias": name,
            "config": {"materialized": kind},
        }
        for name, kind in {"sales": "current_state", "buyers": "history", **kinds}.items()
    }


def mart(follows=FOLLOWS, key="sale_id", sql=SQL, reads=("sales", "buyers"), **kinds):
    node = {
        "name": "paid",
        "columns": {},
        "constraints": [],
        "config": {"unique_key": key, "follows": follows},
        "depends_on": {"nodes": [f"model.shop.{name}" for name in reads]},
    }
    return read_mart(node, RELATION, sql, nodes(**kinds))


def reading(kind, table="gold_plain.sales", last=7):
    return FeedReading(None, table, "f1", kind, 5, last, identifier="id7")


def readings(sales="nothing", buyers="nothing"):
    return {"sales": reading(sales), "buyers": reading(buyers, "gold_plain.buyers")}


def test_a_mart_says_by_which_columns_it_depends_on_each_table():
    buyers, sales = mart().followed
    assert (buyers.name, buyers.values) == ("buyers", "id as `buyer_id`")
    assert sales.touches("mart") == "touched.`sale_id` <=> mart.`sale_id`"
    assert (mart().has_key(sales), mart().has_key(buyers)) == (True, False)
    (sales,) = mart({"sales": ["buyer_id", "day"]}, ["day", "buyer_id"], reads=["sales"]).followed
    assert sales.values == "`buyer_id` as `buyer_id`, `day` as `day`"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"follows": None}, r"option follows: found null; it gives the columns .*'customer_id'}"),
        ({"follows": ["sales"]}, r'option follows: found \["sales"\]'),
        ({"follows": {"sales": 3, "buyers": "id"}}, "found 3 for sales; it is a column"),
        ({"follows": {"sales": "sale_id"}}, "reads buyers, sales by .*: buyers is in one of them"),
        ({"reads": ["sales"]}, "follows names buyers, sales, but its SQL reads sales by"),
        ({"buyers": "view"}, "reads shop.buyers, which is no gold table"),
        ({"reads": ["sales", "stocks"]}, "reads shop.stocks, which is no gold table"),
        ({"key": None}, "has no key.* unique_key='order_id'"),
    ],
)
def test_a_mart_that_cannot_follow_is_refused(given, said):
    with pytest.raises(LakehouseError, match=f"^paid.*{said}"):
        mart(**given)


def test_a_column_that_is_not_there_or_of_another_type_is_refused():
    found = {"sale_id": "bigint", "buyer_id": "string"}
    refuse_columns(mart(), found)
    with pytest.raises(LakehouseError, match=r"no column buyer_id, which follows of buyers names"):
        refuse_columns(mart(), {"sale_id": "bigint"})
    with pytest.raises(LakehouseError, match=r"no column sale_id, which its key names"):
        refuse_columns(mart(), {"buyer_id": "string"})
    buyers, sales = mart().followed
    refuse_types(mart(), sales, found, {"sale_id": "bigint"})
    with pytest.raises(LakehouseError, match=r"id of buyers is bigint.*'cast\(id as string\)'"):
        refuse_types(mart(), buyers, found, {"buyer_id": "bigint"})


def test_the_query_reads_the_tables_that_keep_the_feeds():
    assert query_of_feeds(mart(), readings()) == (
        "select sales.id as sale_id, buyers.id as buyer_id, 'of gold.sales' as note\n"
        "from gold_plain.sales -- gold.sales as they are\n"
        "join gold_plain.buyers on sales.buyer_id = gold_plain.buyers.id"
    )
    with pytest.raises(LakehouseError, match=r"does not read gold\.buyers"):
        query_of_feeds(mart(sql="select 1 from gold.sales, 'gold.buyers'"), readings())


def test_what_was_read_is_kept_with_the_rows():
    read = Read.of(mart(), {"sales": reading("changes"), "buyers": reading("nothing", last=-1)})
    assert Read.kept(read.text) == read
    buyers, sales = mart().followed
    assert read.since(sales) == {"commit": 7, "feed": "f1 7 id7"}
    assert read.since(buyers) is None
    assert Read.kept(None) is None


@pytest.mark.parametrize(
    ("kept", "changed", "asked", "why"),
    [
        (mart(), False, False, None),
        (mart(), False, True, "--full-refresh asks for it"),
        (mart(), True, False, "its rows were changed by something else than its own runs"),
        (None, False, False, "its log does not tell what it has read"),
        (mart(sql=SQL + " "), False, False, "its SQL, its key or its option follows has changed"),
        (mart(key=["sale_id", "note"]), False, False, "its SQL, its key or its option follows has"),
        (mart({**FOLLOWS, "buyers": "buyer_id"}), False, False, "its SQL, its key or its option f"),
    ],
)
def test_why_a_mart_is_rebuilt(kept, changed, asked, why):
    read = Read.of(kept, readings()) if kept else None
    found = why_mart_is_rebuilt(mart(), read, changed, asked)
    assert found is None if why is None else found.startswith(why)


def test_a_feed_that_comes_or_goes_is_not_followed():
    buyers, sales = mart().followed
    kept = Read.of(mart(), {"sales": reading("snapshot")})
    assert why_not_followed(sales, kept, reading("changes")) is None
    assert why_not_followed(buyers, kept, reading("nothing", last=-1)) is None
    assert "no change feed that it has read" in why_not_followed(buyers, kept, reading("snapshot"))
    gone = why_not_followed(sales, kept, reading("nothing", last=-1))
    assert gone == "the change feed of sales is no longer there"


def taken(run, has_touched=True):
    """The steps of a run."""
    steps = []

    def do(step):
        steps.append(step)
        return [(1,)] if isinstance(step, Ask) and has_touched else []

    follow(run.steps(), do)
    return steps


def test_a_run_writes_the_keys_that_changes_touch():
    run = MartRun(mart(), Mark(3, 3), readings(buyers="changes"), False, None, ("sale_id", "note"))
    assert not run.is_up_to_date
    touched, keys, _, changes, commit = taken(run)
    assert [step.view for step in (touched, keys, changes)] == [
        "touched_0",
        "touched_keys",
        "mart_changes",
    ]
    assert "table_changes('gold_plain.buyers', 5, 7)" in touched.sql
    # A row that was there and one that comes: the table and the query are asked.
    assert [f"from {rows} as mart" in keys.sql for rows in ("marts.paid", "mart_query")] == [
        True,
        True,
    ]
    assert "touched_1" not in keys.sql
    assert (commit.source, commit.version, commit.rebuild) == (SOURCE, 4, False)
    assert Read.kept(commit.commit) == Read.of(mart(), readings())
    assert "when matched and new._row is null then delete" in commit.sql


def test_changes_of_the_key_ask_for_no_rows_to_know_the_keys():
    run = MartRun(mart(), Mark(3, 3), readings(sales="changes"), False)
    *_, keys, _, _, _ = taken(run)
    assert keys.sql.strip() == "select `sale_id` from touched_1"


def test_commits_without_changes_are_noted():
    run = MartRun(mart(), Mark(3, 3), readings("changes", "changes"), False)
    *_, commit = taken(run, has_touched=False)
    assert commit.sql == "update marts.paid set `sale_id` = `sale_id` where false"


def test_a_mart_is_built_in_one_commit():
    new = MartRun(mart(), UNREAD, readings("snapshot", "snapshot"), True)
    (commit,) = taken(new)
    assert commit.sql.startswith("create or replace table marts.paid")
    assert (commit.version, commit.rebuild) == (1, True)
    said, commit = taken(MartRun(mart(), Mark(3, 3), readings(), False, "of a reason"))
    assert (said, type(commit)) == (Say("marts.paid is rebuilt: of a reason"), Commit)
    assert not any(isinstance(step, Stage) for step in taken(new))
    assert MartRun(mart(), Mark(3, 3), readings(), False).is_up_to_date


def test_it_is_noticed_that_something_else_has_changed_rows(tmp_path, monkeypatch):
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path))
    log = tmp_path / "warehouse" / "marts.db" / "paid" / "_delta_log"
    log.mkdir(parents=True)
    note = {"userMetadata": note_of({SOURCE: (1, "read")})}

    def commit(number, info, *actions):
        lines = [{"commitInfo": {"txnId": f"id{number}", **info}}, *actions]
        text = "\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
        (log / f"{number:020}.json").write_text(text)

    def has_changed():
        return Marks(None).has_changed_since(Mark(1, 1), RELATION, SOURCE)

    def file(changes):
        return {"add": {"path": "a", "dataChange": changes}}

    commit(0, note, {"txn": {"appId": SOURCE, "version": 1}}, file(True))
    commit(1, {"operation": "OPTIMIZE"}, file(False))
    assert not has_changed()
    commit(2, {"operation": "DELETE"}, file(True))
    assert has_changed()
    # Maintenance says again what the rows have read, and shortens the log.
    commit(3, {"operation": "OPTIMIZE", **note}, file(False))
    assert has_changed()
    for number in range(3):
        (log / f"{number:020}.json").unlink()
    assert not has_changed()
    commit(4, {"operation": "RESTORE", "operationParameters": {"version": 3}}, file(True))
    assert has_changed()
    commit(3, {"operation": "OPTIMIZE"}, file(False))
    (log / f"{4:020}.json").unlink()
    assert has_changed()


# On Spark.

TABLES = {
    "buyers": {"name": "string"},
    "sales": {"buyer_id": "bigint", "amount": "decimal(8, 2)"},
    "refunds": {"sale_id": "bigint", "amount": "decimal(8, 2)"},
}
FED = "{{ config(change_feed=true) }}\n\n"
QUERIES = {
    # A join on keys. `buyers.id` and `sales.id` are null where there is none.
    "refunds_in_full": """select
    refunds.id as refund_id,
    sales.id as sale_id,
    buyers.id as buyer_id,
    refunds.amount,
    sales.amount as sold,
    buyers.name
from {refunds} as refunds
left join {sales} as sales on refunds.sale_id = sales.id
left join {buyers} as buyers on sales.buyer_id = buyers.id""",
    # An aggregate by a key, which may be null.
    "sales_by_buyer": """select
    buyer_id,
    count(*) as number,
    sum(amount) as amount,
    max(amount) as highest
from {sales}
group by buyer_id""",
}
CONFIGS = {
    "refunds_in_full": "unique_key='refund_id', follows={'refunds': {'refund_id': 'id'},"
    " 'sales': {'sale_id': 'id'}, 'buyers': {'buyer_id': 'id'}}",
    "sales_by_buyer": "unique_key='buyer_id', follows={'sales': 'buyer_id'}",
}
ALL = [*TABLES, *QUERIES]
# Of each what is wrong, and what is said of it.
WRONG = {
    "unfed": (
        "unique_key='id', follows={'payments': 'id'}",
        "select id from {{ ref('payments') }}",
        "unfed reads the changes of payments, which keeps no change feed. Set change_feed=true",
    ),
    "doubled": (
        "unique_key='buyer_id', follows={'sales': 'buyer_id'}",
        "select buyer_id, amount from {{ ref('sales') }}",
        r'has several rows with one key \(buyer_id\).*The key: \{"buyer_id":"?1',
    ),
    "cut": (
        "unique_key='id', follows={'sales': 'id'}",
        "select id from {{ ref('sales') }} order by id limit 3",
        "The SQL of cut has limit: its rows would differ",
    ),
    "timed": (
        "unique_key='id', follows={'sales': 'id'}",
        "select id, current_date() as day from {{ ref('sales') }}",
        "The SQL of timed has the time, user or database of the run",
    ),
    "drawn": (
        "unique_key='id', follows={'sales': 'id'}",
        "select id, rand() as number from {{ ref('sales') }}",
        "The SQL of drawn has a random value",
    ),
    "typed": (
        "unique_key='id', follows={'sales': 'id'}",
        "select cast(id as string) as id from {{ ref('sales') }}",
        "`id` of sales is bigint, and the column id is string",
    ),
    "unknown": (
        "unique_key='id', follows={'sales': {'id': 'number'}}",
        "select id from {{ ref('sales') }}",
        "option follows: number as `id` of sales: .*`number` cannot be resolved",
    ),
    "nameless": (
        "unique_key='sale', follows={'sales': 'id'}",
        "select id from {{ ref('sales') }}",
        "nameless has no column sale, which its key names",
    ),
}


def write_project(project):
    lab, described = project / "models" / "gold" / "lab", ""
    (lab / "things.sql").unlink()
    for name, columns in TABLES.items():
        typed = {"id": "bigint", **columns}
        listed = [
            f"    try_cast(image['{column}'] as {kind}) as {column}"
            for column, kind in typed.items()
        ]
        where = f"database_name = 'lab' and table_name = '{name}'"
        text = MODEL.format(config=FED, columns=",\n".join(listed), where=where)
        (lab / f"{name}.sql").write_text(text)
        described += (
            f"\n  - name: {name}\n    description: Of the laboratory.\n"
            "    constraints: [{type: primary_key, columns: [id]}]\n    columns:\n"
        )
        described += "".join(
            f'      - {{name: {column}, data_type: "{kind}", description: A value.}}\n'
            for column, kind in typed.items()
        )
    (lab / "_lab.yml").write_text(f"models:{described}")
    marts = project / "models" / "marts"
    marts.mkdir(exist_ok=True)
    given = {name: (CONFIGS[name], of(QUERIES[name], "{{{{ ref('{}') }}}}")) for name in QUERIES}
    given |= {name: (config, sql) for name, (config, sql, _) in WRONG.items()}
    for name, (config, sql) in given.items():
        text = f"{{{{ config(materialized='follows', schema='marts', {config}) }}}}\n\n{sql}\n"
        (marts / f"{name}.sql").write_text(text)
    # As the page says.
    for name, text in EXAMPLES.items():
        (marts / f"{name}.sql").write_text(text)
    customers = project / "models" / "gold" / "crm" / "customers.sql"
    customers.write_text(FED + customers.read_text())


def of(query, template):
    """A query with the names of its tables."""
    return query.format(**{name: template.format(name) for name in TABLES})


EXAMPLES = dict(
    re.findall(r"`models/marts/(\w+)\.sql`:\n\n```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
)


def message(table, kind, position, *rows, old=None):
    types = {"id": "bigint", **TABLES[table]} | ({"name": "text"} if table == "buyers" else {})
    return change(kind, position, *rows, old=old) | {"table": table, "mysqlType": types}


def row(table, key, *values):
    return {"id": str(key)} | dict(zip(TABLES[table], values, strict=True))


@pytest.fixture(scope="module")
def laboratory(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("follows", change=write_models)
    made = Laboratory(lakehouse, tmp_path_factory.mktemp("follows-landing"))
    write_project(lakehouse.project)
    return made


def deliver(laboratory, *messages, models=ALL):
    """Land messages and run dbt; return what each model said."""
    laboratory.land(*messages, topic="lab.traded")
    return laboratory.lakehouse.dbt("run", "-s", "events", "row_images", *models)


def assert_marts_equal_their_queries(laboratory):
    for name, query in QUERIES.items():
        direct, mart = of(query, "gold.{}"), f"select * from marts.{name}"
        differences = laboratory.lakehouse.query(
            f"(({direct}) except all ({mart})) union all (({mart}) except all ({direct}))"
        )
        assert differences == [], name


def commits(laboratory, name):
    """The operations of the commits of a mart, the first first, and what the last one wrote."""
    rows = laboratory.lakehouse.query(f"describe history marts.{name}")
    return [row["operation"] for row in reversed(rows)], rows[0]["operationMetrics"]


def written(laboratory, name):
    """How many rows the last commit of a mart has inserted, updated and deleted."""
    operations, metrics = commits(laboratory, name)
    assert operations[-1] == "MERGE"
    kinds = ("Inserted", "Updated", "Deleted")
    return tuple(int(metrics[f"numTargetRows{kind}"]) for kind in kinds)


def rows_of(laboratory, name):
    rows = laboratory.lakehouse.query(f"select * from marts.{name} order by 1, 2")
    return [tuple(None if v is None else str(v) for v in row.values()) for row in rows]


def test_the_first_run_computes_all_rows(laboratory):
    deliver(
        laboratory,
        message("buyers", "INSERT", 100, row("buyers", 1, "Ann"), row("buyers", 2, "Bob")),
        message(
            "sales",
            "INSERT",
            101,
            row("sales", 10, "1", "5.00"),
            row("sales", 11, "1", "7.50"),
            row("sales", 12, "2", "1.00"),
            row("sales", 13, None, "9.00"),
        ),
        message("refunds", "INSERT", 102, row("refunds", 20, "10", "5.00")),
        message("refunds", "INSERT", 103, row("refunds", 21, "14", "2.00")),
    )
    assert rows_of(laboratory, "sales_by_buyer") == [
        (None, "1", "9.00", "9.00"),
        ("1", "2", "12.50", "7.50"),
        ("2", "1", "1.00", "1.00"),
    ]
    assert rows_of(laboratory, "refunds_in_full") == [
        ("20", "10", "1", "5.00", "5.00", "Ann"),
        ("21", None, None, "2.00", None, None),
    ]
    assert_marts_equal_their_queries(laboratory)


def test_a_run_computes_the_keys_that_changes_touch(laboratory):
    deliver(
        laboratory,
        # From one buyer to another, and no refund of it.
        message("sales", "UPDATE", 200, row("sales", 11, "2", "7.50"), old=[{"buyer_id": "1"}]),
        message("sales", "DELETE", 201, row("sales", 13, None, "9.00")),
        # The sale that a refund was waiting for.
        message("sales", "INSERT", 202, row("sales", 14, "3", "2.00")),
        # It had no refund, and has one now.
        message("refunds", "INSERT", 203, row("refunds", 22, "12", "1.00")),
    )
    assert rows_of(laboratory, "sales_by_buyer") == [
        ("1", "1", "5.00", "5.00"),
        ("2", "2", "8.50", "7.50"),
        ("3", "1", "2.00", "2.00"),
    ]
    assert written(laboratory, "sales_by_buyer") == (1, 2, 1)
    assert rows_of(laboratory, "refunds_in_full") == [
        ("20", "10", "1", "5.00", "5.00", "Ann"),
        ("21", "14", None, "2.00", "2.00", None),
        ("22", "12", "2", "1.00", "1.00", "Bob"),
    ]
    assert written(laboratory, "refunds_in_full") == (1, 1, 0)
    # A name that no refund shows yet, one that goes from a refund, and an update that changes none.
    said = deliver(
        laboratory,
        message("buyers", "INSERT", 210, row("buyers", 3, "Cid")),
        message("buyers", "DELETE", 211, row("buyers", 1, "Ann")),
        message("buyers", "UPDATE", 212, row("buyers", 2, "Bob"), old=[{"name": "Bob"}]),
    )
    assert said["sales_by_buyer"] == "NOTHING NEW"
    assert rows_of(laboratory, "refunds_in_full") == [
        ("20", "10", None, "5.00", "5.00", None),
        ("21", "14", "3", "2.00", "2.00", "Cid"),
        ("22", "12", "2", "1.00", "1.00", "Bob"),
    ]
    assert commits(laboratory, "refunds_in_full")[0][1:] == ["MERGE", "MERGE"]
    assert_marts_equal_their_queries(laboratory)


def test_a_run_without_news_makes_no_commit(laboratory):
    before = {name: commits(laboratory, name) for name in QUERIES}
    said = laboratory.lakehouse.dbt("run", "-s", *QUERIES)
    assert said == dict.fromkeys(QUERIES, "NOTHING NEW")
    laboratory.land(message("buyers", "INSERT", 220, row("buyers", 4, "Di")), topic="lab.traded")
    laboratory.lakehouse.dbt("run", "-s", "events", "row_images", *TABLES)
    said = laboratory.lakehouse.dbt("run", "--empty", "-s", *QUERIES)
    assert said == dict.fromkeys(QUERIES, "NOT WRITTEN")
    assert {name: commits(laboratory, name) for name in QUERIES} == before
    laboratory.lakehouse.dbt("run", "-s", *QUERIES)
    assert_marts_equal_their_queries(laboratory)


class History:
    """Three tables whose rows are changed at random, and the messages of it."""

    def __init__(self, seed, position):
        self.random, self.position = random.Random(seed), position
        self.rows = {name: {} for name in TABLES}

    def value(self, table, column):
        if column == "name":
            return self.random.choice(["a", "b", None])
        if column == "amount":
            return self.random.choice(["1.50", "9.25", "0.00", None])
        return self.random.choice([*map(str, range(100, 112)), None])

    def statement(self):
        self.position += 1
        table, key = self.random.choice(list(TABLES)), self.random.randrange(100, 112)
        rows, at, drawn = self.rows[table], self.position, self.random.random()
        new = row(table, key, *(self.value(table, column) for column in TABLES[table]))
        old = rows.get(key)
        if old is None:
            rows[key] = new
            return message(table, "INSERT", at, new)
        if drawn < 0.25:
            return message(table, "DELETE", at, rows.pop(key))
        if drawn < 0.4:  # an update that changes nothing
            return message(table, "UPDATE", at, old, old=[dict(list(old.items())[1:])])
        if drawn < 0.6 and (free := set(range(100, 112)) - rows.keys()):
            new["id"] = str(min(free))
            del rows[key]
        rows[int(new["id"])] = new
        before = {name: old[name] for name in old if old[name] != new[name]}
        return message(table, "UPDATE", at, new, old=[before])


def follow_a_random_history(laboratory, seed, position, runs, size):
    history, held = History(seed, position), []
    for _ in range(runs):
        messages = held + [history.statement() for _ in range(size)]
        history.random.shuffle(messages)
        # Some come late, and some twice.
        late = len(messages) // 5
        held = messages[:late]
        deliver(laboratory, *messages[late:], *messages[-2:])
        assert_marts_equal_their_queries(laboratory)
    deliver(laboratory, *held)
    assert_marts_equal_their_queries(laboratory)


def test_marts_equal_their_queries_after_each_run_of_a_random_history(laboratory):
    before = {name: len(commits(laboratory, name)[0]) for name in QUERIES}
    follow_a_random_history(laboratory, SEED, 1000, 3, 25)
    for name, number in before.items():
        assert set(commits(laboratory, name)[0][number:]) <= {"MERGE", "UPDATE"}


@pytest.mark.long
def test_a_truncate_a_rebuild_and_an_erasure_of_a_source_are_followed(laboratory):
    lakehouse = laboratory.lakehouse
    deliver(
        laboratory,
        truncate(3000) | {"table": "sales", "sql": "truncate table `sales`"},
        message("sales", "INSERT", 3001, row("sales", 10, "61", "5.00")),
        message("buyers", "INSERT", 3002, row("buyers", 61, "Quillfeather")),
    )
    assert rows_of(laboratory, "sales_by_buyer") == [("61", "1", "5.00", "5.00")]
    assert_marts_equal_their_queries(laboratory)
    lakehouse.dbt("run", "--full-refresh", "-s", "sales")
    lakehouse.dbt("run", "-s", *QUERIES)
    assert_marts_equal_their_queries(laboratory)
    assert commits(laboratory, "sales_by_buyer")[0][-1] in ("MERGE", "UPDATE")
    assert ("20", "10", "61", "5.00", "5.00", "Quillfeather") in rows_of(
        laboratory, "refunds_in_full"
    )
    code, said, errors = lakehouse.command("erase", "lab.buyers", "--key", "id=61")
    assert code == 0, said + errors
    assert files_that_hold(lakehouse.home, "Quillfeather") == {"Quillfeather": set()}
    assert_marts_equal_their_queries(laboratory)
    deliver(laboratory, message("buyers", "INSERT", 3010, row("buyers", 62, "Eve")))
    assert_marts_equal_their_queries(laboratory)


def test_a_feed_that_begins_again_rebuilds_the_mart(laboratory):
    lakehouse = laboratory.lakehouse
    model = lakehouse.project / "models" / "gold" / "lab" / "buyers.sql"
    fed = model.read_text()
    model.write_text(fed.replace("change_feed", "plain_table"))
    lakehouse.dbt("run", "-s", "buyers")
    model.write_text(fed)
    deliver(laboratory, message("buyers", "INSERT", 3100, row("buyers", 63, "Fay")))
    assert "marts.refunds_in_full is rebuilt: it cannot go on reading" in laboratory.log_of_run()
    assert_marts_equal_their_queries(laboratory)


def test_what_another_program_writes_or_restores_is_computed_again(laboratory):
    lakehouse, said = laboratory.lakehouse, "is rebuilt: its rows were changed by something else"
    latest, before, *_ = lakehouse.query("describe history marts.sales_by_buyer")
    assert latest["version"] == before["version"] + 1
    for statement in (
        "delete from marts.sales_by_buyer",
        f"restore table marts.sales_by_buyer to version as of {before['version']}",
    ):
        lakehouse.query(statement)
        lakehouse.dbt("run", "-s", *QUERIES)
        assert f"marts.sales_by_buyer {said}" in laboratory.log_of_run()
        assert_marts_equal_their_queries(laboratory)
    # Compaction changes no row.
    lakehouse.query("optimize marts.sales_by_buyer")
    assert lakehouse.dbt("run", "-s", *QUERIES) == dict.fromkeys(QUERIES, "NOTHING NEW")


def _killed(after):
    """Run the marts as if the process died before their commits, or right after them."""
    from conftest import _dbt

    def dies(*arguments, **named):
        if after:
            commit(*arguments, **named)
        raise RuntimeError("killed here")

    commit, Marks.write_and_commit = Marks.write_and_commit, dies
    try:
        return _dbt(["run", "-s", *QUERIES])
    finally:
        Marks.write_and_commit = commit


@pytest.mark.parametrize("after", [False, True])
def test_a_run_that_is_killed_loses_nothing_and_repeats_nothing(laboratory, after):
    sale = row("sales", 70 + after, "61", "1.25")
    laboratory.land(message("sales", "INSERT", 3200 + after, sale), topic="lab.traded")
    laboratory.lakehouse.dbt("run", "-s", "events", "row_images", *TABLES)
    success, *_ = laboratory.lakehouse.process.submit(_killed, after).result()
    assert not success
    said = laboratory.lakehouse.dbt("run", "-s", *QUERIES)
    assert (set(said.values()) == {"NOTHING NEW"}) is after
    assert_marts_equal_their_queries(laboratory)


def test_a_mart_with_another_query_is_rebuilt(laboratory):
    path = laboratory.lakehouse.project / "models" / "marts" / "sales_by_buyer.sql"
    text = path.read_text()
    path.write_text(text.replace("count(*) as number", "count(*) + 1 as number"))
    laboratory.lakehouse.dbt("run", "-s", "sales_by_buyer")
    assert "is rebuilt: its SQL, its key or its option follows" in laboratory.log_of_run()
    assert rows_of(laboratory, "sales_by_buyer")[0][1] != "1"
    path.write_text(text)
    laboratory.lakehouse.dbt("run", "-s", "sales_by_buyer")
    assert_marts_equal_their_queries(laboratory)


def test_a_mart_that_would_be_wrong_is_refused(laboratory):
    deliver(
        laboratory,
        *(
            message("sales", "INSERT", 3300 + n, row("sales", 80 + n, "1", "1.00"))
            for n in range(2)
        ),
        models=[*TABLES, "payments"],
    )
    errors = laboratory.lakehouse.dbt("run", "-s", *WRONG, fails=True)
    found = {error.partition(":")[0]: error for error in errors}
    assert found.keys() == WRONG.keys()
    for name, (_, _, said) in WRONG.items():
        assert re.search(said, found[name], re.DOTALL), found[name]


def test_the_page_shows_what_its_marts_hold(laboratory):
    lakehouse = laboratory.lakehouse
    lakehouse.ingest(LANDING)
    assert SAMPLE.read_text() in PAGE
    models = ("orders", "customers", SAMPLE.stem, *EXAMPLES)
    lakehouse.dbt("run", "-s", "events", "row_images", *models)
    queries = re.findall(r'^lakehouse query "(.*)"$', PAGE, re.MULTILINE)
    (shown,) = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for query, table in zip(queries, shown.split("\n\n"), strict=True):
        code, said, errors = lakehouse.command("query", query, is_alone=True)
        assert code == 0, errors
        assert said.strip() == table.strip()


@pytest.mark.long
def test_marts_equal_their_queries_after_each_run_of_a_long_history(laboratory):
    follow_a_random_history(laboratory, SEED + 1, 10_000, RUNS, 60)
