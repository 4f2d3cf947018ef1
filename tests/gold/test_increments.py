"""A run costs what is new: old data files are not even opened, and Delta's metrics say so."""

import json
import re

import pytest
import yaml
from conftest import LANDING, _dbt, _root
from shop import write_messages

from cdc_lakehouse.engine.change_log import find_new_messages, plan_window
from cdc_lakehouse.engine.window import Build
from cdc_lakehouse.runtime.paths import warehouse_path

pytestmark = pytest.mark.full

# A line of a plan whose operator is compiled, together with others, begins with a star.
COMPILED = re.compile(r"^[ :+-]*\* ", re.MULTILINE)
# A function in Python, and a text that is parsed which is not one of Delta's statistics.
PYTHON = re.compile(r"EvalPython\nInput .*\nArguments: \[(\w+)\(")
PARSED = re.compile(r"from_json\(StructField\((?!numRecords)")

COMMITTED = 1_794_560_000_000  # milliseconds; after all changes of the sample


def order_update(position, status):
    return {
        "data": [{"id": "1003", "status": status, "total": "310.25", "currency": "CNY"}],
        "old": [{"status": "shipped"}],
        "database": "shop",
        "table": "orders",
        "type": "UPDATE",
        "id": position,
        "es": COMMITTED,
        "ts": COMMITTED,
        "isDdl": False,
        "sql": "",
        "pkNames": ["id"],
        "mysqlType": {"id": "bigint", "status": "varchar", "total": "decimal"},
    }


def _plans_of_run():
    """Run the project and return the plans of all queries that it ran."""
    store = _root()._jsparkSession.sharedState().statusStore()
    before = store.executionsCount()
    success, _, errors = _dbt(["run"])
    assert success, errors
    executions = store.executionsList(before, 10_000)
    return [executions.apply(i).physicalPlanDescription() for i in range(executions.size())]


@pytest.fixture(scope="module")
def grown(open_lakehouse, tmp_path_factory):
    """The sample, and a run for one more message while all data files of before are away."""
    lakehouse = open_lakehouse("grown")
    lakehouse.ingest(LANDING)
    lakehouse.dbt("seed")
    lakehouse.dbt("run")
    warehouse = lakehouse.home / "warehouse"
    lakehouse.old_files = {
        path: path.with_suffix(".away")
        for schema, table in (("bronze", "messages"), ("silver", "events"))
        for path in (warehouse / f"{schema}.db" / table).rglob("*.parquet")
        if "_delta_log" not in path.parts
    }
    assert lakehouse.old_files
    landing = tmp_path_factory.mktemp("increment")
    message = json.dumps(order_update(1769000000000000000, "returned")).encode()
    write_messages(landing / "one.parquet", [("shop.orders", 0, 1000, message)])
    lakehouse.ingest(landing)
    for path, away in lakehouse.old_files.items():
        path.rename(away)
    lakehouse.dbt("run")
    lakehouse.found = lakehouse.query(
        "select operation, after['status'] as status from silver.row_changes"
        f" where committed_at >= timestamp_millis({COMMITTED})"
    )
    for path, away in lakehouse.old_files.items():
        away.rename(path)
    lakehouse.timings = json.loads((lakehouse.home / "timings" / "dbt-run.json").read_text())
    return lakehouse


def test_an_increment_opens_no_old_file_of_bronze_or_silver(grown):
    rows = grown.query("select status from gold.orders where id = 1003")
    assert rows == [{"status": "returned"}]


def test_row_changes_of_a_time_open_no_file_of_other_times(grown):
    assert grown.found == [{"operation": "update", "status": "returned"}]


def test_an_increment_writes_what_is_new(grown):
    (events,) = grown.query("describe history silver.events limit 1")
    assert events["operationMetrics"]["numOutputRows"] == "1"
    (orders,) = grown.query("describe history gold_storage.orders limit 1")
    metrics = orders["operationMetrics"]
    assert metrics["numSourceRows"] == "1"
    assert metrics["numTargetRowsUpdated"] == "1"
    # A row of a large file is marked, the file is not written again.
    assert metrics["numTargetRowsCopied"] == "0"


def test_the_timings_say_what_each_model_wrote(grown):
    wrote = {
        step["part"]: step["rows_written"]
        for step in grown.timings["steps"]
        if step["name"] in ("writes", "writes and commits")
    }
    # A small mart is one file, which is written again as a whole.
    assert wrote.pop("customer_totals") > 0
    assert wrote == {"events": 1, "orders": 1, "orders_history": 2}
    steps = {step["part"]: step for step in grown.timings["steps"]}
    assert "payments" not in steps  # it had no news, and nothing was asked
    assert all(step["seconds"] >= 0 for step in grown.timings["steps"])
    assert grown.timings["java_seconds"] > 0
    assert grown.timings["compiler_seconds"] > 0


def test_a_table_without_changes_makes_no_commit(grown):
    operations = grown.query("describe history gold_storage.payments")
    assert [commit["operation"] for commit in operations] == ["WRITE", "CREATE TABLE"]


def test_compaction_of_bronze_is_nothing_new(grown):
    grown.query("optimize bronze.messages")
    before = grown.files()
    said = grown.dbt("run", "-s", "events")
    assert said["events"] == "NOTHING NEW"
    assert grown.files() == before


def _plan(columns):
    """Plan a run of silver.events; return what it reads, what is new, and the number of queries."""
    spark = _root().newSession()
    store = spark._jsparkSession.sharedState().statusStore()
    before = store.executionsCount()
    path = warehouse_path("silver", "events")
    planned = plan_window(spark, "silver.events", path, columns, exists=True, is_asked=False)
    found = find_new_messages(spark, planned)
    executions = store.executionsList(before, 10_000)
    plans = [executions.apply(i).physicalPlanDescription() for i in range(executions.size())]
    # To give a query a name is a command, which reads nothing.
    return planned, found, sum("CreateViewCommand" not in plan for plan in plans)


def test_what_is_new_is_known_without_a_query(grown, tmp_path):
    rows = [("shop.orders", 0, 1900, None), ("nowhere", 0, 1900, b"?")]
    write_messages(tmp_path / "two.parquet", rows)
    contract = yaml.safe_load((grown.project / "models/silver/_events.yml").read_text())
    columns = contract["models"][0]["columns"]
    grown.dbt("run", "-s", "events")

    nothing, found, queries = grown.process.submit(_plan, columns).result()
    assert (nothing.is_empty, nothing.build, found, queries) == (True, Build(exists=True), None, 0)

    grown.ingest(tmp_path)
    planned, found, queries = grown.process.submit(_plan, columns).result()
    assert (planned.formats, queries) == ({"dts_canal", "unrouted"}, 0)
    assert (planned.read, planned.last > nothing.last) == (nothing.read, True)
    assert (found.has_copies, found.has_updates, found.are_known) == (False, False, False)
    grown.dbt("run", "-s", "events")
    found = grown.query("select kind from silver.events where offset = 1900 or topic = 'nowhere'")
    assert sorted(row["kind"] for row in found) == ["control", "rejected"]


def test_few_messages_are_parsed_once_and_not_compiled(grown, tmp_path):
    message = json.dumps(order_update(1769000000000000001, "few")).encode()
    write_messages(tmp_path / "one.parquet", [("shop.orders", 0, 1001, message)])
    grown.ingest(tmp_path)
    plans = grown.process.submit(_plans_of_run).result()
    assert any("orders" in plan for plan in plans)
    assert [plan for plan in plans if COMPILED.search(plan)] == []
    assert [name for plan in plans for name in PYTHON.findall(plan)] == ["exact_json"]
    # To give a query a name is a command, which reads nothing.
    read = [plan for plan in plans if "CreateViewCommand" not in plan]
    assert sum(len(PARSED.findall(plan)) for plan in read) == 1


@pytest.mark.long
def test_a_long_pause_loses_nothing(grown, tmp_path):
    """Delta cleans its log after 30 days; then the change feed no longer reaches back."""
    grown.query("alter table bronze.messages set tblproperties ('delta.checkpointInterval' = '1')")
    for number in (2, 3):
        message = json.dumps(order_update(1769000000000000000 + number, f"pause {number}")).encode()
        write_messages(tmp_path / f"{number}.parquet", [("shop.orders", 0, 1000 + number, message)])
        grown.ingest(tmp_path)
    log = grown.home / "warehouse" / "bronze.db" / "messages" / "_delta_log"
    commits = sorted(log.glob("*.json"))
    for path in commits[:-1]:
        path.unlink()
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    events = grown.query("select count(*) as n from silver.events")[0]["n"]
    grown.dbt("run")
    assert grown.query("select count(*) as n from silver.events")[0]["n"] == events + 2
    rows = grown.query("select status from gold.orders where id = 1003")
    assert rows == [{"status": "pause 3"}]
    grown.dbt("test", "-s", "test_type:singular")


def test_a_routed_message_gets_its_result(grown):
    """What landed without a route is rejected once, and reprocessed once it has a route."""
    where = "where topic = 'legacy.audit'"
    before = grown.query(f"select kind, reject_reason from silver.events {where}")
    assert before == [{"kind": "rejected", "reject_reason": "unrouted_topic"}] * 2
    grown.query(f"update bronze.messages set format = 'dts_canal' {where}")
    # A table that may have deletion vectors has all its files listed for each query.
    properties = "show tblproperties silver.events"
    vectors = {"key": "delta.enableDeletionVectors", "value": "true"}
    assert vectors not in grown.query(properties)
    grown.dbt("run")
    assert vectors in grown.query(properties)
    after = grown.query(f"select kind, reject_reason from silver.events {where}")
    assert [row["kind"] for row in after] == ["rejected"] * 2
    assert {row["reject_reason"] for row in after} != {"unrouted_topic"}
    grown.dbt("test", "-s", "test_type:singular")


def _expire():
    from cdc_lakehouse.operate.expire import expire_messages

    expire_messages("0 hours")


@pytest.mark.long
def test_columns_are_added_in_place_where_silver_can_no_longer_be_rebuilt(grown, tmp_path):
    """A later version of the project has further columns, and bronze has let old messages go."""
    identity = "topic, partition, offset, row_number"
    further = "source_type, is_late, is_duplicate"
    everything = f"select * except ({further}) from silver.events order by {identity}"
    before, gold = grown.query(everything), grown.query("select * from gold.orders order by id")
    grown.process.submit(_expire).result()
    mapping = "('delta.columnMapping.mode' = 'name')"  # without which Delta drops no column
    grown.query(f"alter table silver.events set tblproperties {mapping}")
    grown.query(f"alter table silver.events drop columns ({further})")
    (grown.home / "warehouse/silver.db/events/_latest_changes.json").unlink()
    customer = {
        "prevStruct": None,
        "postStruct": {"id": 990, "name": "Ines"},
        "allMetaData": {
            "checkpoint": "9",
            "timestamp": "1999999999",
            "record_primary_key": "id",
            "dbType": "OB_MYSQL",
            "table_name": "customers",
            "db": "tenant1.crm",
        },
        "recordType": "INSERT",
    }
    rows = [
        ("shop.orders", 0, 2000, json.dumps(order_update(1769000000000000000, "late")).encode()),
        ("crm.customers", 0, 2000, json.dumps(customer).encode()),
    ]
    write_messages(tmp_path / "two.parquet", rows)
    grown.ingest(tmp_path)
    grown.dbt("run")
    # The columns and the rows have a commit each. Rows of before are as they were, with nulls, but
    # for what is told by comparing them: which of them are duplicates.
    history = grown.query("describe history silver.events")
    assert [commit["operation"] for commit in history[:5]] == [
        "WRITE",
        "SET TBLPROPERTIES",
        "MERGE",
        "ADD COLUMNS",
        "SET TBLPROPERTIES",
    ]
    assert grown.check_duplicates() > 0
    assert grown.query(everything.replace("order", "where offset < 2000 order")) == before
    found = grown.query(f"select topic, {further} from silver.events where offset = 2000")
    assert sorted(tuple(row.values()) for row in found) == [
        ("crm.customers", "ob_mysql", False, False),
        ("shop.orders", None, True, False),
    ]
    old = "select count(*) as n from silver.events where offset < 2000"
    assert grown.query(f"{old} and (source_type is not null or is_late is not null)") == [{"n": 0}]
    # In the places that the contract gives them.
    contract = yaml.safe_load((grown.project / "models/silver/_events.yml").read_text())
    names = [column["name"] for column in contract["models"][0]["columns"]]
    assert [row["col_name"] for row in grown.query("describe silver.events")] == names
    # The late change altered nothing of gold; its views and those of silver go on.
    assert grown.query("select * from gold.orders order by id") == gold
    counted = "select late_changes from silver.table_accounting where table_name = 'orders'"
    assert grown.query(f"{counted} and database_name = 'shop'") == [{"late_changes": 1}]
    assert grown.query("select name from gold.customers where id = 990") == [{"name": "Ines"}]
    grown.dbt("test", "-s", "test_type:singular")
    assert grown.dbt("run")["events"] == "NOTHING NEW"
    # Any other difference still needs a rebuild, which would lose rows.
    grown.query("alter table silver.events add columns (of_another_project string)")
    (said,) = grown.dbt("run", "-s", "events", fails=True)
    assert "LAKEHOUSE_LOSE_REMOVED=yes" in said
