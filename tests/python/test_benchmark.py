"""The benchmark's topics lead to the table that all contenders are compared with."""

import json
import sys

import pyarrow.parquet as pq
from conftest import PROJECT

sys.path.append(str(PROJECT))
from bench import topics


def test_no_change_is_lost_where_one_file_ends_and_the_next_begins(tmp_path, monkeypatch):
    monkeypatch.setattr(topics, "MESSAGES_OF_FILE", 7)
    for step in topics.STEPS:
        (tmp_path / step).mkdir()

    topics.write_partition(str(tmp_path), "dts_canal", (200, 80, 40, 0), 0)

    rows, offsets = {}, []
    for path in sorted(tmp_path.glob("*/*.parquet")):
        for message in pq.read_table(path, columns=["offset", "value"]).to_pylist():
            change = json.loads(message["value"])
            (row,) = change["data"]
            offsets.append(message["offset"])
            rows.pop(row["id"], None)
            if change["type"] != "DELETE":
                rows[row["id"]] = row
    assert offsets == list(range(80))
    expected = pq.read_table(tmp_path / "expected-0").to_pylist()
    assert sorted(rows.values(), key=str) == sorted(expected, key=str)
