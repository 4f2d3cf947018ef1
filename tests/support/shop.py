"""The sample topics as messages to deliver in another way, and what they must become."""

import csv
from datetime import UTC, datetime
from math import isnan
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

SAMPLES = Path(__file__).parents[2] / "samples"
CURRENT_TABLES = {
    "orders": ["id"],
    "order_items": ["order_id", "line_no"],
    "customers": ["id"],
    "payments": ["id"],
}
TABLES = CURRENT_TABLES | {"orders_history": ["id", "valid_from"]}
# What says which delivered copy was read, and when; all else must not depend on the delivery.
DELIVERY = {"_topic", "_partition", "_offset", "_row_number", "_bronze_version", "_known_at"}


def sample_messages():
    """Return (topic, value) of every sample message, in the order of delivery in its topic."""
    messages = []
    for path in sorted((SAMPLES / "landing").glob("*/*")):
        if path.suffix == ".parquet":
            rows = pq.read_table(path, columns=["topic", "offset", "value"]).to_pylist()
            rows.sort(key=lambda row: row["offset"])
            messages += [(row["topic"], row["value"]) for row in rows]
        else:
            topic = path.parent.name
            messages += [(topic, line) for line in path.read_bytes().splitlines()]
    return messages


class Keyed(bytes):
    """The value of a message that has a key, too."""

    def __new__(cls, value, key):
        keyed = super().__new__(cls, value)
        keyed.key = key
        return keyed


def write_messages(path, messages):
    """Write (topic, partition, offset, value) rows as Spark's Kafka source would hand them over."""
    topics, partitions, offsets, values = zip(*messages, strict=True)
    now = datetime(2026, 11, 20, tzinfo=UTC)
    table = pa.table(
        {
            "key": pa.array([getattr(value, "key", None) for value in values], pa.binary()),
            "value": pa.array([v if isinstance(v, bytes) else None for v in values], pa.binary()),
            "topic": pa.array(topics, pa.string()),
            "partition": pa.array(partitions, pa.int32()),
            "offset": pa.array(offsets, pa.int64()),
            "timestamp": pa.array([now] * len(messages), pa.timestamp("us", "UTC")),
            "timestampType": pa.array([0] * len(messages), pa.int32()),
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def expected_rows(table):
    """Return the rows of samples/expected/<table>.csv: texts, None for NULL."""
    with open(SAMPLES / "expected" / f"{table}.csv", newline="") as file:
        rows = csv.DictReader(file)
        return [{name: None if v == r"\N" else v for name, v in row.items()} for row in rows]


def as_text(value):
    """Write a gold value as the canonical text of silver, to compare it with the expected file."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, float) and isnan(value):
        return "NaN"
    if isinstance(value, datetime):
        text = value.isoformat(sep=" ")
        return text.rstrip("0") if "." in text else text
    return str(value)


def as_expected(lakehouse, table):
    """Return a gold table in the order of its key, as its expected file has it."""
    expected = expected_rows(table)
    rows = lakehouse.query(f"select * from gold.{table} order by {', '.join(TABLES[table])}")
    return [{name: as_text(row[name]) for name in expected[0]} for row in rows]


def gold(lakehouse, table):
    """Return a gold table in the order of its key, without what says which copy was read."""
    rows = lakehouse.query(f"select * from gold.{table} order by {', '.join(TABLES[table])}")
    kept = [{name: v for name, v in row.items() if name not in DELIVERY} for row in rows]
    for row in kept:
        if row["_operation"] == "snapshot":
            # A full-load row of OMS has no position of its own: its sequence is its delivery.
            row["_sequence"] = None
    return kept
