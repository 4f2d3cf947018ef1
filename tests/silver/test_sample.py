"""From bytes to gold: the sample topics give the tables that were worked out by hand.

All that asks the sample is here, for it is built once: plans and errors too.
"""

import csv
import json
import re

import pytest
import yaml
from conftest import LANDING, PROJECT, SAID
from rendered import look_at
from shop import CURRENT_TABLES, SAMPLES, TABLES, as_expected, expected_rows, gold
from silver_models import FORMATS, MODELS
from test_scenarios import SILVER
from unit_tests import judge_broken, judge_formats

PYTHON = re.compile("ArrowEval|BatchEvalPython|PythonUDF|MapInArrow")
UNIT_TESTS = sorted(
    test["name"]
    for path in SILVER.rglob("_*.yml")
    for test in yaml.load(path.read_text(), yaml.CSafeLoader).get("unit_tests", [])
)
JSON_MODELS = [name for name in MODELS if not name.endswith("avro")]
# The functions that read JSON, of the formats that `exact_json` does not read.
CONNECT_FORMATS = ("debezium_json", "debezium_flat_json", "mongodb_change_stream")
READERS = dict.fromkeys(CONNECT_FORMATS, "connect_json")
READERS |= dict.fromkeys(("ticdc_simple", "tidb_canal"), "claimed_json")
KINDS = [
    "row_change",
    "truncate",
    "schema_change",
    "heartbeat",
    "transaction_begin",
    "transaction_end",
    "control",
    "rejected",
]


@pytest.fixture(scope="module")
def sample(open_lakehouse):
    """A lakehouse that has landed the sample topics and was built and tested once."""
    lakehouse = open_lakehouse("sample")
    lakehouse.report = lakehouse.ingest(LANDING)
    lakehouse.dbt("build", "--exclude-resource-type", "unit_test")
    return lakehouse


@pytest.fixture(scope="module")
def judged(sample):
    """What is wrong with the unit tests that one plan a format can judge."""
    return sample.process.submit(judge_formats).result()


@pytest.fixture(scope="module")
def passed_in_dbt(sample, judged):
    """The unit tests that take a plan each, and one of each format: they are dbt's."""
    left = [name for name in UNIT_TESTS if name not in judged]
    passed = sample.dbt("test", "-s", *left, *(f"{name}__insert" for name in FORMATS))
    SAID.append(f"{len(judged)} unit tests judged by format, {len(passed)} by dbt")
    return passed


@pytest.mark.parametrize("name", UNIT_TESTS)
def test_a_unit_test_passes(judged, passed_in_dbt, name):
    assert name in judged or name in passed_in_dbt
    assert judged.get(name) is None, judged[name]


@pytest.mark.long
def test_dbt_judges_all_unit_tests_as_one_plan_a_format_does(sample):
    broken, found, found_by_dbt = sample.process.submit(judge_broken, 25).result()
    assert len(broken) >= 20
    assert found == found_by_dbt == broken


def test_what_materializations_write_is_sql_that_a_linter_accepts(sample):
    """The models of silver, and one table of each materialization of gold, as dbt has run them."""
    models = sample.home / "target" / "run" / "cdc_lakehouse" / "models"
    gold = [models / "gold" / name for name in ("crm/customers.sql", "shop/orders_history.sql")]
    written = [*models.glob("silver/*.sql"), *gold]
    assert {"events.sql", "row_images.sql"} < {path.name for path in written}
    # sqlfluff takes `column` for a keyword, where it is a field of a struct.
    texts = {
        path.name: path.read_text().replace("struct<column:", "struct<name:") for path in written
    }
    faults = {name: look_at(f"{text}\n")[0] for name, text in texts.items()}
    assert {name: found for name, found in faults.items() if found} == {}


def test_a_warning_names_the_view_to_look_at(sample):
    # The unit tests of all formats say so much that dbt begins a second file.
    said = "".join(path.read_text() for path in (sample.home / "logs").glob("dbt.log*"))
    assert "messages_are_not_rejected: look at silver.rejected_by_reason and" in said
    assert "look at gold.gold_problems." in said
    assert "limits_are_kept_message_accounting_: look at what `lakehouse check` prints." in said


def test_everything_is_landed(sample):
    assert sample.report.problems == []
    assert sum(sample.report.messages.values()) == 167


@pytest.mark.parametrize("table", TABLES)
def test_gold_is_what_was_worked_out_by_hand(sample, table):
    assert as_expected(sample, table) == expected_rows(table)


def test_a_table_can_be_read_as_it_was(sample):
    rows = sample.query("select id from gold.orders_as_of(timestamp '2026-11-05 12:00:00')")
    # Before that 1002 was deleted and 1005 became 2005; 1009 and 1010 came later.
    assert sorted(row["id"] for row in rows) == [1001, 1003, 1004, 1006, 1007, 1008, 2005]


def test_values_that_do_not_fit_are_named(sample):
    with open(SAMPLES / "expected" / "problems.csv", newline="") as file:
        expected = sorted((r["table"], r["column"], r["text"]) for r in csv.DictReader(file))
    found = [
        (table, problem["column"], problem["text"])
        for table in CURRENT_TABLES
        for row in sample.query(f"select explode(_problems) as problem from gold.{table}")
        for problem in [row["problem"].asDict()]
    ]
    assert sorted(found) == expected
    summary = sample.query(
        "select table_name, column_name, problems, first_text from gold.gold_problems"
        " order by table_name, column_name"
    )
    # No column has two of them here.
    assert [tuple(row.values()) for row in summary] == [
        (table, column, 1, text) for table, column, text in expected
    ]


def test_every_gold_table_is_in_gold_problems():
    listed = re.findall(r"ref\('(\w+)'\)", (PROJECT / "models/gold/gold_problems.sql").read_text())
    paths = (PROJECT / "models" / "gold").glob("*/*.sql")
    tables = {path.stem: text for path in paths if "row_images(" in (text := path.read_text())}
    assert listed == sorted(name for name, text in tables.items() if "'history'" not in text)


def test_every_message_is_accounted_for(sample):
    counts = ", ".join(f"count_if(kind = '{kind}' and row_number = 0) as {kind}" for kind in KINDS)
    found = sample.query(
        f"select topic, count_if(row_number = 0) as messages, {counts},"
        " count_if(kind = 'row_change') as `rows` from silver.events group by topic order by topic"
    )
    with open(SAMPLES / "expected" / "accounting.csv", newline="") as file:
        expected = [
            {name: value if name == "topic" else int(value) for name, value in row.items()}
            for row in csv.DictReader(file)
        ]
    assert found == sorted(expected, key=lambda row: row["topic"])


def test_rejected_messages_keep_their_bytes(sample):
    rejected = {
        (row["topic"], row["offset"]): (row["reject_reason"], bytes(row["value"]))
        for row in sample.query("select * from silver.rejected_messages")
    }
    lines = (LANDING / "shop.orders" / "orders.jsonl").read_bytes().splitlines()
    audit = (LANDING / "legacy.audit" / "audit.jsonl").read_bytes().splitlines()
    assert rejected["shop.orders", 21] == ("not_json", lines[21])
    assert rejected["vendor.oms_default", 3][0] == "not_json"
    assert rejected["shop.payments", 28][0] == "not_avro"
    assert rejected["legacy.audit", 1] == ("unrouted_topic", audit[1])
    assert len(rejected) == 5


def _look():
    """Look at the lakehouse twice, without values and with them; return both pages, too."""
    from cdc_lakehouse.report.findings import findings
    from cdc_lakehouse.report.limits import read_limits
    from cdc_lakehouse.report.looking import Looker
    from cdc_lakehouse.report.page import page
    from dbt.adapters.lakehouse.connections import root_session

    looked = []
    for has_values in (False, True):
        facts = Looker(root_session({}), PROJECT, has_values).look()
        found = findings(facts, read_limits(PROJECT))
        looked.append((facts, found, page(facts, found)))
    return looked


@pytest.fixture(scope="module")
def looked(sample):
    return sample.process.submit(_look).result()


def test_the_report_accounts_for_every_message(looked):
    facts, _, _ = looked[0]
    with open(SAMPLES / "expected" / "accounting.csv", newline="") as file:
        expected = {row["topic"]: row for row in csv.DictReader(file)}
    of_topic = {topic: [p for p in facts.partitions if p.topic == topic] for topic in expected}
    for topic, row in expected.items():
        for name, column in {
            "messages": "messages",
            "rejected": "rejected",
            "row_changes": "rows",
        }.items():
            found = sum(getattr(partition, name) for partition in of_topic[topic])
            assert found == int(row[column]), (topic, name)
        landed = [each for each in facts.arrivals if each.topic == topic]
        assert sum(each.messages for each in landed) == int(row["messages"])
        assert sum(each.rejected for each in landed) == int(row["rejected"])
    assert sum(map(len, of_topic.values())) == len(facts.partitions)


def test_the_report_says_when(looked):
    facts, _, _ = looked[0]
    (orders,) = (p for p in facts.partitions if p.topic == "shop.orders")
    # The last change of the topic's file: `es`, and `ts` 0.74 s after it.
    assert (orders.committed_at, orders.produced_at) == (1794384000.0, 1794384000.74)
    assert orders.committed_at < orders.ingested_at < orders.processed_at < facts.made_at
    assert orders.delay_seconds == pytest.approx(orders.processed_at - orders.committed_at)
    assert {p.format for p in facts.partitions if p.topic == "shop.orders"} == {"dts_canal"}


def test_the_report_finds_what_is_wrong(looked):
    facts, found, _ = looked[0]
    assert facts.problems == ()
    (rejected,) = (f for f in found if f.limit == "rejected_share")
    assert rejected.subject == "4 topics"
    assert rejected.text.startswith("5 of 97 messages are rejected in 4 topics (5.15%")
    assert "legacy.audit (2)" in rejected.text and "not_avro (1)" in rejected.text
    (unread,) = (f for f in found if f.limit == "unread_tables")
    assert unread.subject.endswith(" source tables")
    assert unread.remedy.startswith("lakehouse add-table --all, or lakehouse add-table ")
    assert [f for f in found if f.limit == "shared_keys"] == []
    assert [f.subject for f in found if f.limit == "problems"] == ["order_items", "orders"]


def test_the_report_shows_drift_gold_runs_and_files(looked):
    facts, _, _ = looked[0]
    drift = {(d.table, d.column): (d.drift, d.ddl) for d in facts.drift}
    assert drift["shop.orders", "note"] == (
        "new",
        "ALTER TABLE orders ADD COLUMN note varchar(200)",
    )
    assert drift["inventory.products2", "other"] == ("vanished", None)
    tables = {table.table: table for table in facts.gold_tables}
    for table in CURRENT_TABLES:
        assert tables[table].rows == len(expected_rows(table))
    assert [p.column for p in tables["orders"].problems] == ["shipped_at"]
    assert {t.table for t in facts.source_tables if t.has_model} == {
        *("crm.customers", "shop.order_items", "shop.orders", "shop.payments")
    }
    assert {"dbt-build", "ingest-files"} <= {run.command for run in facts.runs}
    stored = {each.table: each for each in facts.stored}
    assert stored["bronze.messages"].rows == 167
    assert all(each.files and each.bytes for each in facts.stored if each.rows)


def test_the_report_has_values_of_rows_only_where_they_are_wanted(looked):
    (without, _, masked), (with_values, _, whole) = looked
    (torn,) = (r for r in with_values.rejected if r.topic == "shop.orders")
    assert (torn.reason, torn.samples[0].offset) == ("not_json", 21)
    line = (LANDING / "shop.orders" / "orders.jsonl").read_bytes().splitlines()[21].decode()
    assert torn.samples[0].text == line[:300]
    assert "Via Roma 1" in line and "Via Roma 1" in whole and "Via Roma 1" not in masked
    (hidden,) = (r for r in without.rejected if r.topic == "shop.orders")
    assert hidden.samples[0].text.startswith(
        '{"xxxx":[{"xx":"0000","xxxxxxxx_xx":"0","xxxxxx":"xxxx",'
    )
    assert hidden.detail is None
    assert hidden.replay == "lakehouse replay --reason not_json --topic shop.orders"
    problems = [p for table in without.gold_tables for p in table.problems]
    assert problems and all(problem.first_text is None for problem in problems)
    with open(SAMPLES / "expected" / "problems.csv", newline="") as file:
        texts = [json.dumps(row["text"]) for row in csv.DictReader(file)]
    assert all(text in whole and text not in masked for text in texts)


def test_copies_are_counted_and_shown_once(sample):
    copies = sample.query(
        "select sum(repeated_changes) as copies from silver.message_accounting"
        " where topic = 'shop.orders'"
    )
    delivered = sample.query("select count(*) as n from silver.events where kind = 'row_change'")
    once = sample.query("select count(*) as n from silver.row_changes")
    assert copies[0]["copies"] > 0
    assert delivered[0]["n"] - once[0]["n"] == sample.check_duplicates()
    # The two DELETE samples of the DTS page share id and table but not content: neither is a copy.
    deletes = sample.query(
        "select before from silver.row_changes"
        " where topic = 'vendor.dts_canal' and table_name = 'tablename'"
    )
    assert len(deletes) == 2


def test_a_run_with_nothing_new_writes_nothing(sample):
    before = sample.files()
    assert sample.ingest(LANDING).messages == {}
    said = sample.dbt("run")
    assert {said[name] for name in ("events", *TABLES)} == {"NOTHING NEW"}
    assert sample.files() == before


@pytest.mark.long
def test_a_full_refresh_gives_the_same(sample):
    before = {table: gold(sample, table) for table in TABLES}
    order = "topic, partition, offset, row_number"
    events = f"select * except (loaded_at) from silver.events order by {order}"
    log = sample.query(events)
    said = sample.dbt("run", "--full-refresh")
    assert "NOTHING NEW" not in said.values()
    assert sample.query(events) == log
    assert {table: gold(sample, table) for table in TABLES} == before
    assert {sample.dbt("run")[name] for name in ("events", *TABLES)} == {"NOTHING NEW"}


@pytest.mark.long
def test_every_column_is_described(sample):
    sample.dbt("docs", "generate")
    catalog = json.loads((sample.home / "target" / "catalog.json").read_text())
    manifest = json.loads((sample.home / "target" / "manifest.json").read_text())
    missing = []
    for kind in ("nodes", "sources"):
        for name, entry in catalog[kind].items():
            described = manifest[kind][name]["columns"]
            found = {column for column, text in described.items() if text["description"].strip()}
            missing += [f"{name}.{column}" for column in entry["columns"] if column not in found]
    assert not [name for name in missing if not re.match(r"seed\.", name)]
    assert any(name.startswith("model.cdc_lakehouse.orders") for name in catalog["nodes"])


def test_a_mistake_in_sql_is_a_short_message(sample):
    said = sample.dbt("show", "--inline", "select no_such_column from silver.events", fails=True)
    assert "no_such_column" in said[0]
    assert "JVM stacktrace" not in said[0]
    assert "at org.apache" not in said[0]
    assert len(said[0].splitlines()) < 20


def test_a_mistake_at_run_time_is_a_short_message(sample):
    inline = "select raise_error('this went wrong') as x from silver.events"
    said = sample.dbt("show", "--inline", inline, fails=True)
    assert "this went wrong" in said[0]
    assert "at org.apache" not in said[0]
    assert len(said[0].splitlines()) < 20


def _shown(names):
    """Return the rows that `dbt show` has of each model."""
    from dbt.cli.main import dbtRunner

    only_models = ("--exclude", "resource_type:test")
    done = dbtRunner().invoke(["--quiet", "show", "--limit", "-1", "-s", *names, *only_models])
    assert done.success, str(done.exception)
    tables = {result.node.name: result.agate_table for result in done.result.results}
    return {name: [row.dict() for row in tables[name].rows] for name in names}


def test_models_of_silver_can_be_looked_at_outside_a_run_and_nothing_is_written(sample):
    def state():
        layers = ("bronze", "silver", "gold", "gold_storage")
        names = [row for layer in layers for row in sample.query(f"show tables in {layer}")]
        return names, sorted((sample.home / "warehouse").glob("*/*/_delta_log/*.json"))

    def results(rows):
        names = ("topic", "partition", "offset", "row_number", "kind")
        return {tuple(str(row[name]) for name in names) for row in rows}

    before = state()
    names = ("messages", "dts_canal", "earlier_shards", "events", "row_images", "orders")
    shown = sample.process.submit(_shown, names).result()

    events = sample.query("select * from silver.events")
    assert len(shown["messages"]) == len(sample.query("select 1 from bronze.messages"))
    assert results(shown["events"]) == results(events)
    canal = [row for row in events if row["format"] == "dts_canal"]
    assert results(shown["dts_canal"]) == results(canal)
    assert shown["earlier_shards"] == []
    assert len(shown["row_images"]) == len(sample.query("select 1 from silver.row_images"))
    assert {row["id"] for row in shown["orders"]} >= {1001, 1003}
    assert state() == before


def _plans_of_formats():
    """Return the plans by which the messages of each format that bronze holds become results."""
    from dbt.cli.main import dbtRunner

    from dbt.adapters.lakehouse.connections import root_session

    compiled = dbtRunner().invoke(["--quiet", "compile", "-s", *MODELS])
    assert compiled.success, compiled.exception
    spark = root_session({}).newSession()
    spark.conf.set("spark.sql.debug.maxToStringFields", "10000")
    plans = {}
    for node in (result.node for result in compiled.result.results):
        frame = spark.sql(node.compiled_code)
        plans[node.name] = frame._jdf.queryExecution().executedPlan().toString()
    return plans


@pytest.fixture(scope="module")
def plans(sample):
    return sample.process.submit(_plans_of_formats).result()


@pytest.mark.parametrize("name", JSON_MODELS)
def test_a_message_is_looked_through_once_and_parsed_once(plans, name):
    plan = plans[name]
    functions = re.findall(r"ArrowEvalPython \[(\w+)\(", plan)
    assert functions == [READERS.get(name, "exact_json")]
    of_values = re.sub(r"from_json\([^#]*cast\(message_key#\d+ as string\)", "", plan)
    parsing = [line for line in of_values.splitlines() if "from_json(StructField(" in line]
    assert len(parsing) == 1


@pytest.mark.parametrize("name", MODELS)
def test_only_the_format_is_read_where_python_reads(plans, name):
    plan = plans[name]
    assert PYTHON.search(plan)
    assert re.search(rf"PartitionFilters: \[[^\]]*format#\d+ (= |IN \()?{name}\b", plan)


def test_no_plan_grows(plans):
    """What Spark analyses, compiles and calls for a message: note a number that has fallen."""
    calls = {name: len(re.findall(r"\w\(", plan)) for name, plan in sorted(plans.items())}
    most = json.loads((SILVER.parents[1] / "tests" / "silver" / "plan_calls.json").read_text())
    grown = {name: number for name, number in calls.items() if number > most.get(name, 0)}
    assert not grown, f"more calls in the plans of {grown}; all are {json.dumps(calls)}"
