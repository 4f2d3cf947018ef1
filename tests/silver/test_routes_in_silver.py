"""From line files to a table of gold, where routes say what messages do not: one lakehouse for all.

The files are what Google Cloud Datastream writes: events of PostgreSQL, whose database the route
names, in an order of delivery that is not that of the source.
"""

import gzip
import json

import pytest
from encoders.project import remove_gold

from cdc_lakehouse.gold.add_table import Gold
from cdc_lakehouse.gold.source_tables import find_table

pytestmark = pytest.mark.full

TOPIC = "cloud.orders"
LSN = {"backfill": None, "new": "0/9F", "moved": "1/2", "gone": "1/1A0"}


def event(change, place, row, seconds=0, deleted=False):
    lsn = LSN[place]
    method = "postgresql-backfill" if lsn is None else "postgresql-cdc"
    time = f"2026-11-05T12:00:{seconds:02d}.500000Z"
    source = {"schema": "public", "table": "orders", "is_deleted": deleted, "lsn": lsn}
    source |= {"change_type": change, "primary_keys": ["id"], "tx_id": 7}
    return {
        "read_timestamp": time,
        "source_timestamp": time,
        "object": "public_orders",
        "read_method": method,
        "sort_keys": [0, lsn],
        "source_metadata": source,
        "payload": row,
    }


# The file that comes first has the changes that came last.
FILES = {
    "1.jsonl.gz": [
        event("UPDATE", "gone", {"id": 1, "total": "10.50", "status": "paid"}, 30),
        event("DELETE", "gone", {"id": 2}, 30, deleted=True),
    ],
    "2.jsonl": [
        event("UPDATE", "moved", {"id": 1, "total": "10.50", "status": "packed"}, 20),
        event("INSERT", "new", {"id": 2, "total": "0.99", "status": "new"}, 10),
        event("INSERT", "new", {"id": 3, "total": "7.00", "status": "new"}, 10),
    ],
    "3.jsonl": [
        event("INSERT", "backfill", {"id": 1, "total": "9.00", "status": "new"}, 59),
        event("INSERT", "backfill", {"id": 4, "total": None, "status": "old"}, 59),
    ],
}


def add_route(project):
    topics = project / "seeds" / "topics.csv"
    topics.write_text(f"{topics.read_text()}{TOPIC},datastream_json,,,,crm\n")
    remove_gold(project)


@pytest.fixture(scope="module")
def lakehouse(open_lakehouse, tmp_path_factory):
    lakehouse = open_lakehouse("routes", change=add_route)
    folder = tmp_path_factory.mktemp("routes-landing") / TOPIC
    folder.mkdir()
    for name, events in FILES.items():
        data = "".join(f"{json.dumps(event)}\n" for event in events).encode()
        (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    lakehouse.ingest(folder.parent)
    lakehouse.dbt("seed")
    lakehouse.dbt("run", "-s", "events", "row_images", "column_shapes", "source_columns")
    # What `lakehouse add-table crm.public.orders` does.
    tables = lakehouse.seen_tables()
    Gold(lakehouse.project).add(find_table(tables, "crm.public.orders"))
    lakehouse.dbt("run", "-s", "orders")
    return lakehouse


def test_gold_is_the_table_of_the_source_in_whatever_order_its_files_come(lakehouse):
    rows = lakehouse.query(
        "select id, total, status, cast(_committed_at as string) as time from gold.orders"
        " order by id"
    )
    assert [tuple(map(str, row.values())) for row in rows] == [
        ("1", "10.50", "paid", "2026-11-05 12:00:30.5"),
        ("3", "7.00", "new", "2026-11-05 12:00:10.5"),
        ("4", "None", "old", "None"),
    ]


def test_the_route_names_the_database_that_no_event_does(lakehouse):
    rows = lakehouse.query(
        "select distinct kind, database_name, schema_name, table_name, source_type"
        " from silver.events"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("row_change", "crm", "public", "orders", "postgresql")
    ]
