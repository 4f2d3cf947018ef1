"""OceanBase records in shards: put together in any order, however many runs lie between."""

import io
import json
from itertools import permutations

import fastavro
import pytest
from conftest import PROJECT
from shop import write_messages

pytestmark = pytest.mark.long

PARSED = json.loads((PROJECT / "avro" / "oceanbase_avro.avsc").read_text())
RECORD = fastavro.parse_schema(PARSED)
IMAGE_UNION = next(field["type"] for field in PARSED["fields"] if field["name"] == "beforeImages")
IMAGE = fastavro.parse_schema(IMAGE_UNION[1])
ORDERS = list(permutations(range(3)))


def encode(schema, value):
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, schema, value)
    return stream.getvalue()


def image(name):
    text = {"type_info": "STRING", "value": name}
    return encode(IMAGE, [{"type_info": "LONG", "value": ("long", 7)}, text])


def shards(record_id):
    """Return an UPDATE of (7, old) to (7, new x 50) in three messages."""
    before, after = image("old"), image("new" * 50)
    parts = [(before[:2], after[:20]), (before[2:], after[20:21]), (b"", after[21:])]
    return [
        encode(
            RECORD,
            {
                "id": record_id,
                "version": 1,
                "operation": "UPDATE",
                "timestamp": 1606233662,
                "schemaName": "tenant1.stock",
                "tableName": "items",
                "fields": [
                    {"name": "id", "dataTypeNumber": 8},
                    {"name": "name", "dataTypeNumber": 253},
                ],
                "pkIndexes": [0],
                "total": 3,
                "index": index,
                "beforeImageBytes": part[0],
                "afterImageBytes": part[1],
            },
        )
        for index, part in enumerate(parts)
    ]


@pytest.fixture(scope="module")
def delivered(open_lakehouse, tmp_path_factory):
    """Record 100 + n has come in order n, one shard a run, and then one more time in a fourth run;
    record 200 has come as a whole in one run, record 300 lacks its last shard."""
    lake = open_lakehouse("shards", lambda project: add_route(project))
    folder = tmp_path_factory.mktemp("landing")
    records = {100 + number: shards(100 + number) for number in range(len(ORDERS))}
    offset = 0
    for run in range(4):
        if run < 3:
            values = [records[100 + n][order[run]] for n, order in enumerate(ORDERS)]
        else:
            values = [value for record in records.values() for value in record]
        values += {1: shards(200), 2: shards(300)[:2]}.get(run, [])
        messages = [("stock.items", n % 2, offset + n, value) for n, value in enumerate(values)]
        offset += len(values)
        write_messages(folder / f"{run}.parquet", messages)
        lake.ingest(folder)
        lake.dbt("seed")
        lake.dbt("run", "-s", "events")
    return lake


def add_route(project):
    topics = project / "seeds" / "topics.csv"
    topics.write_text(topics.read_text() + "stock.items,oceanbase_avro,,,,\n")


def test_each_record_becomes_one_change(delivered):
    rows = delivered.query(
        "select cast(sequence as bigint) as record, before, after, key_columns, table_name"
        " from silver.events where kind = 'row_change' order by record"
    )
    assert [row.pop("record") for row in rows] == [*range(100, 106), 200]
    for row in rows:
        assert row == {
            "before": {"id": "7", "name": "old"},
            "after": {"id": "7", "name": "new" * 50},
            "key_columns": ["id"],
            "table_name": "items",
        }


def test_the_shard_that_was_missing_carries_the_change(delivered):
    rows = delivered.query(
        "select kind, cast(sequence as bigint) as record, offset from silver.events order by offset"
    )
    by_record = {}
    for row in rows:
        by_record.setdefault(row["record"], []).append(row["kind"])
    for record in range(100, 106):
        assert by_record[record] == ["control"] * 2 + ["row_change"] + ["control"] * 3
    assert sorted(by_record[200]) == ["control", "control", "row_change"]
    assert by_record[300] == ["control", "control"]


def test_a_rebuild_says_the_same(delivered):
    select = "select topic, partition, offset, kind, sequence, before, after from silver.events"
    before = delivered.query(f"{select} order by offset")
    delivered.dbt("run", "-s", "events", "--full-refresh")
    assert delivered.query(f"{select} order by offset") == before
