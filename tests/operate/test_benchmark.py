"""The benchmark's topics lead to the table that contenders are compared with; results are kept."""

import json
import sys

import pyarrow.parquet as pq
from conftest import PROJECT

sys.path.append(str(PROJECT))
from bench import results, topics


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


def test_results_are_written_by_the_programs_alone():
    text = results.RESULTS.read_text()
    assert results.written(results.read(text)) == text


def test_a_table_takes_the_place_of_the_one_of_its_name(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(results, "RESULTS", tmp_path / "RESULTS.md")
    first, second = ((results.HISTORY, f"dts_canal, {n} messages") for n in ("10", "20"))
    other = (results.READING, "dts_canal")
    text = results.table(("a", "b"), [("1", results.spread([3, 1, 2]))])
    assert text == "| a | b |\n| --- | --- |\n| 1 | 2.0 (1.0 to 3.0) |"
    results.show({other: f"{text}\n", first: "old\n", second: "kept\n"}, is_written=True)
    results.show({first: "new\n"}, is_written=True)
    results.show({second: "only shown\n"}, is_written=False)
    assert results.read(results.RESULTS.read_text()) == {
        first: "new\n",
        second: "kept\n",
        other: f"{text}\n",
    }
    assert "only shown" in capsys.readouterr().out


def test_one_figure_has_no_range():
    assert [results.spread(each) for each in ([], [1.23], [2, 2.01])] == ["", "1.2", "2.0"]
