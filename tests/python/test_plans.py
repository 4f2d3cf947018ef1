"""What Spark does for a run, as its plans say."""

import re

import pytest

from cdc_lakehouse.routes import FORMATS

PYTHON = re.compile("ArrowEval|BatchEvalPython|PythonUDF|MapInArrow")
AVRO_FORMATS = sorted(name for name in FORMATS if name.endswith("avro"))
JSON_FORMATS = sorted(FORMATS - {*AVRO_FORMATS})


def _plans_of_formats():
    """Return the plans by which the messages of each format that bronze holds become outcomes."""
    from dbt.cli.main import dbtRunner

    from dbt.adapters.lakehouse.connections import root_session

    compiled = dbtRunner().invoke(["--quiet", "compile", "-s", *FORMATS])
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
    plans = {}
    for node in (result.node for result in compiled.result.results):
        frame = spark.sql(node.compiled_code)
        plans[node.name] = frame._jdf.queryExecution().executedPlan().toString()
    return plans


@pytest.fixture(scope="module")
def plans(sample):
    return sample.process.submit(_plans_of_formats).result()


@pytest.mark.parametrize("name", JSON_FORMATS)
def test_a_message_is_parsed_once_and_without_python(plans, name):
    plan = plans[name]
    assert plan.count("StructField(end_of_message,") == 1
    assert not PYTHON.search(plan)


@pytest.mark.parametrize("name", AVRO_FORMATS)
def test_only_the_format_of_avro_is_read_where_python_decodes(plans, name):
    plan = plans[name]
    assert PYTHON.search(plan)
    assert re.search(rf"PartitionFilters: \[[^\]]*format#\d+ = {name}\b", plan)
