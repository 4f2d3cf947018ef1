"""Gold depends neither on the delivery (order, repetition, batches) nor on compiled plans."""

import os
import random
from collections import defaultdict

import pytest
from shop import TABLES, as_expected, expected_rows, gold, sample_messages, write_messages

pytestmark = pytest.mark.long

SEED = int(os.environ["SEED"])


def shuffled_twice(seed):
    """Give every sample message twice, each topic in random order, the copies at later offsets."""
    by_topic = defaultdict(list)
    for topic, value in sample_messages():
        by_topic[topic].append(value)
    messages = []
    for topic, values in by_topic.items():
        generator = random.Random(f"{seed} {topic}")
        first, second = values[:], values[:]
        generator.shuffle(first)
        generator.shuffle(second)
        messages += [(topic, 0, number, value) for number, value in enumerate(first + second)]
    return messages


def _compile_all():
    from dbt.adapters.lakehouse import connections, execution, tables

    compile_plans = connections.compile_plans
    for module in (connections, execution, tables):
        module.compile_plans = lambda spark, is_worth_it: compile_plans(spark, True)


@pytest.fixture(scope="module")
def disordered(open_lakehouse, tmp_path_factory):
    """The sample in another order, in two batches, with every message delivered a second time.

    Its plans are compiled, as those of many messages are; the sample's own are interpreted.
    """
    lakehouse = open_lakehouse("disordered", own=True)
    lakehouse.process.submit(_compile_all).result()
    landing = tmp_path_factory.mktemp("landing")
    messages = shuffled_twice(SEED)
    random.Random(SEED).shuffle(messages)
    half = len(messages) // 2
    for number, batch in enumerate((messages[:half], messages[half:])):
        write_messages(landing / f"batch-{number}.parquet", batch)
        lakehouse.ingest(landing)
        if number == 0:
            lakehouse.dbt("seed")
        lakehouse.dbt("run")
    return lakehouse


@pytest.mark.parametrize("table", TABLES)
def test_gold_is_what_was_worked_out_by_hand(disordered, table):
    assert as_expected(disordered, table) == expected_rows(table)


def test_conservation_holds_after_disorder(disordered):
    disordered.dbt("test", "-s", "test_type:singular")
    accounting = disordered.query(
        "select topic, sum(messages) as messages, sum(repeated_changes) as copies,"
        " sum(repeated_identities) as identities, sum(missing_offsets) as missing"
        " from silver.message_accounting group by topic"
    )
    expected = defaultdict(int)
    for topic, _ in sample_messages():
        expected[topic] += 2
    assert {row["topic"]: row["messages"] for row in accounting} == dict(expected)
    assert {row["identities"] for row in accounting} == {0}
    assert {row["missing"] for row in accounting} == {0}


def test_an_identity_that_is_landed_again_is_processed_once(disordered, tmp_path):
    before = {table: gold(disordered, table) for table in TABLES}
    count = "select count(*) as n from silver.events"
    events = disordered.query(count)
    again = shuffled_twice(SEED)[:40]
    topic, partition, offset, _ = again[0]
    write_messages(tmp_path / "again.parquet", again[1:])
    write_messages(
        tmp_path / "other_bytes.parquet", [(topic, partition, offset, b'{"type":"DDL"}')]
    )
    disordered.ingest(tmp_path)
    disordered.dbt("run")
    assert disordered.query(count) == events
    assert {table: gold(disordered, table) for table in TABLES} == before
    found = disordered.query("select sum(repeated_identities) as n from silver.message_accounting")
    assert found[0]["n"] == 40
    conflicts = disordered.query("select topic, partition, offset from silver.conflicting_messages")
    assert conflicts == [{"topic": topic, "partition": partition, "offset": offset}]
