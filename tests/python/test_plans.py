"""What Spark does for a run, as its plans say."""

import json
import re

import pytest
from conftest import LANDING, _dbt, _root
from shop import write_messages
from test_increments import order_update

from cdc_lakehouse.routes import FORMATS

PYTHON = re.compile("ArrowEval|BatchEvalPython|PythonUDF|MapInArrow")
AVRO_FORMATS = sorted(name for name in FORMATS if name.endswith("avro"))
JSON_FORMATS = sorted(FORMATS - {*AVRO_FORMATS})
# A line of a plan whose operator is compiled, together with others, begins with a star.
COMPILED = re.compile(r"^[ :+-]*\* ", re.MULTILINE)


def _plan_of(format_name):
    """Return the plan by which the messages of one format that bronze holds become outcomes."""
    from dbt.cli.main import dbtRunner

    from dbt.adapters.lakehouse.connections import root_session

    compiled = dbtRunner().invoke(["--quiet", "compile", "-s", format_name])
    assert compiled.success, compiled.exception
    spark = root_session({}).newSession()
    spark.conf.set("spark.sql.debug.maxToStringFields", "10000")
    spark.sql(
        "select *, _metadata.row_commit_version as bronze_version from bronze.messages"
    ).createOrReplaceTempView("new_messages")
    spark.sql(
        "select topic, partition, offset, bronze_version, sequence, kind, binary(null) as value"
        " from silver.events where false"
    ).createOrReplaceTempView("settled_shards")
    frame = spark.sql(compiled.result.results[0].node.compiled_code)
    return frame._jdf.queryExecution().executedPlan().toString()


def _plans_of_run():
    """Run the project and return the plans of all queries that it ran."""
    store = _root()._jsparkSession.sharedState().statusStore()
    before = store.executionsCount()
    success, _, errors = _dbt(["run"])
    assert success, errors
    executions = store.executionsList(before, 10_000)
    return [executions.apply(i).physicalPlanDescription() for i in range(executions.size())]


@pytest.fixture(scope="module")
def built(open_lakehouse):
    """The sample topics, landed and built once."""
    lakehouse = open_lakehouse("plans")
    lakehouse.ingest(LANDING)
    lakehouse.dbt("seed")
    lakehouse.dbt("run")
    return lakehouse


@pytest.mark.parametrize("name", JSON_FORMATS)
def test_a_message_is_parsed_once_and_without_python(built, name):
    plan = built.process.submit(_plan_of, name).result()
    assert plan.count("StructField(end_of_message,") == 1
    assert not PYTHON.search(plan)


@pytest.mark.parametrize("name", AVRO_FORMATS)
def test_only_the_format_of_avro_is_read_where_python_decodes(built, name):
    plan = built.process.submit(_plan_of, name).result()
    assert PYTHON.search(plan)
    assert re.search(rf"PartitionFilters: \[[^\]]*format#\d+ = {name}\b", plan)


def test_few_messages_are_not_compiled(built, tmp_path):
    message = json.dumps(order_update(1769000000000000000, "returned")).encode()
    write_messages(tmp_path / "one.parquet", [("shop.orders", 0, 1000, message)])
    built.ingest(tmp_path)
    plans = built.process.submit(_plans_of_run).result()
    assert any("orders" in plan for plan in plans)
    assert [plan for plan in plans if COMPILED.search(plan)] == []
